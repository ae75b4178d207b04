/** A small seeded generator. All random choices of the painter come from it, so that a picture can be painted again. */
export class Random {
  private state: number;

  constructor(readonly seed: number) {
    this.state = spread(seed ^ 0x9e3779b9);
  }

  /** From 0 to 1, exclusive. */
  next(): number {
    this.state = (this.state + 0x9e3779b9) | 0;
    return spread(this.state) / 4294967296;
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.next() * items.length)]!;
  }

  /** An independent generator, so that more of one thing in a picture does not move the others. */
  fork(label: string): Random {
    return new Random(spread(this.seed ^ hashText(label)));
  }
}

/** 32 bits from a text, the same in every process. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return spread(hash);
}

/** From 0 to 1 (exclusive), for a point of the integer lattice. */
export function lattice(x: number, y: number, seed: number): number {
  return spread(Math.imul(x, 0x1f1f1f1f) ^ Math.imul(y, 0x27d4eb2d) ^ seed) / 4294967296;
}

/** Mixes a whole number into 32 well-spread bits. */
function spread(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
  return (bits ^ (bits >>> 15)) >>> 0;
}

/** Smooth value noise, 0 to 1. */
export function noise(x: number, y: number, seed: number): number {
  const left = Math.floor(x);
  const top = Math.floor(y);
  const u = (x - left) ** 2 * (3 - 2 * (x - left));
  const v = (y - top) ** 2 * (3 - 2 * (y - top));
  const above = lattice(left, top, seed) * (1 - u) + lattice(left + 1, top, seed) * u;
  const below = lattice(left, top + 1, seed) * (1 - u) + lattice(left + 1, top + 1, seed) * u;
  return above * (1 - v) + below * v;
}

/** Several octaves of `noise`, each twice as fine and half as strong, 0 to 1. Ridged ones have sharp crests. */
export function fractalNoise(x: number, y: number, seed: number, octaves: number, isRidged = false): number {
  let sum = 0;
  for (let octave = 0, weight = 0.5; octave < octaves; octave += 1, weight *= 0.5) {
    const value = noise(x, y, seed + octave * 1013);
    sum += weight * (isRidged ? (1 - Math.abs(2 * value - 1)) ** 2 : value);
    // Turning the lattice between octaves hides its grid.
    [x, y] = [1.6 * x + 1.2 * y, 1.6 * y - 1.2 * x];
  }
  return sum / (1 - 0.5 ** octaves);
}
