import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { MUTANTS } from './list/all.js';

/** The source and its compiled file, so that the record counts without another build. */
const SOURCE = new URL('../../../../test/simulation/mutants/found-at.ts', import.meta.url);
const COMPILED = new URL('./found-at.js', import.meta.url);

/** Records the seed at which each mutant was found, in the order of the list. Removed mutants are dropped. */
export function record(foundAt: Readonly<Record<string, number | undefined>>): void {
  const lines = MUTANTS.flatMap(({ name }) =>
    foundAt[name] === undefined ? [] : [`  '${name}': ${foundAt[name]},\n`],
  ).join('');
  const comment = '/** The seed at which each mutant was found. Written by `npm run test:mutants -- --record`. */\n';
  writeFileSync(
    SOURCE,
    `${comment}export const FOUND_AT: Readonly<Record<string, number | undefined>> = {\n${lines}};\n`,
  );
  writeFileSync(COMPILED, `export const FOUND_AT = {\n${lines}};\n`);
  console.log(`Recorded in ${fileURLToPath(SOURCE)}`);
}
