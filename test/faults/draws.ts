import fc from 'fast-check';

/** A whole number from 0 up to, and not including, `below`. */
export type Draw = (below: number) => number;

/** A stream of numbers from one seed. */
export function drawsFrom(seed: number): Draw {
  const [values] = fc.sample(fc.infiniteStream(fc.nat({ max: 0x7fff_ffff })), { numRuns: 1, seed });
  return (below) => Number(values?.next().value ?? 0) % below;
}

export function oneOf<T>(draw: Draw, list: readonly [T, ...T[]]): T {
  return list[draw(list.length)] ?? list[0];
}

/** A number from `least` to `most`, both inclusive. */
export function between(draw: Draw, least: number, most: number): number {
  return least + draw(most - least + 1);
}

export function shuffled<T>(draw: Draw, list: readonly T[]): T[] {
  const left = [...list];
  return list.flatMap(() => left.splice(draw(left.length), 1));
}
