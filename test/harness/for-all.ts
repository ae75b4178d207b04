import fc from 'fast-check';

type Drawn = [unknown, ...unknown[]];
type Arbitraries<T extends Drawn> = { [K in keyof T]: fc.Arbitrary<T[K]> };
/** How many examples are drawn, or other parameters of fast-check too. */
type Runs<T> = number | fc.Parameters<T>;

const parametersOf = <T>(runs: Runs<T>) => (typeof runs === 'number' ? { numRuns: runs } : runs);

/** Checks a property of drawn values; a failure prints its seed and the smallest example that was found. */
export function forAll<T extends Drawn>(
  runs: Runs<T>,
  arbitraries: Arbitraries<T>,
  check: (...drawn: T) => Promise<void>,
): Promise<void> {
  return fc.assert(fc.asyncProperty<T>(...arbitraries, check), parametersOf(runs));
}

/** The same for a property that is checked at once. */
export function forAllSync<T extends Drawn>(
  runs: Runs<T>,
  arbitraries: Arbitraries<T>,
  check: (...drawn: T) => void,
): void {
  fc.assert(fc.property<T>(...arbitraries, check), parametersOf(runs));
}
