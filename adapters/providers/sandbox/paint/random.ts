/** Mixes a whole number into 32 well-spread bits. */
function mix(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
  return (bits ^ (bits >>> 15)) >>> 0;
}

/** 32 bits from a text: the same in every process. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return mix(hash);
}

/** 0 to 1 (exclusive) for a point of the integer lattice. */
export function lattice(x: number, y: number, seed: number): number {
  return mix(Math.imul(x, 0x1f1f1f1f) ^ Math.imul(y, 0x27d4eb2d) ^ seed) / 4294967296;
}

/** A small seeded generator. Painting takes all its chance from here, so that a picture can be painted again. */
export class Random {
  #state: number;

  constructor(readonly seed: number) {
    this.#state = mix(seed ^ 0x9e3779b9);
  }

  /** 0 to 1, exclusive. */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    return mix(this.#state) / 4294967296;
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly [T, ...T[]]): T {
    return items[Math.floor(this.next() * items.length)] ?? items[0];
  }

  /** An independent generator, so that drawing more of one thing does not move all the others. */
  fork(label: string): Random {
    return new Random(mix(this.seed ^ hashText(label)));
  }
}
