import { availableParallelism } from 'node:os';
import PQueue from 'p-queue';
import { Misused, readOptions, runProgram, wholeNumber } from '../command-line.js';
import { MUTANTS } from './list/all.js';
import type { Mutant } from './mutant.js';
import { heading, line } from './report.js';
import { runMutant, type Seeds } from './run-mutant.js';
import { CONTROL } from './switch.js';

const USAGE = `Breaks core in one place at a time, and plays seeds until the simulation finds it.

  --seeds N       how many seeds each mutant may take (300)
  --from N        the first of them (1)
  --only MUTANT   this one alone; may be given more than once
`;

/** Core as it is must pass the same machinery, or what the mutants are found by proves nothing. */
async function controlIsSound(seeds: Seeds): Promise<boolean> {
  const outcome = await runMutant(CONTROL, seeds);
  console.log(line({ name: CONTROL, breaks: [] }, outcome, seeds));
  return outcome.kind === 'survived';
}

async function main(): Promise<number> {
  const values = readOptions({ seeds: { type: 'string' }, from: { type: 'string' }, only: { type: 'string', multiple: true } });
  const seeds = { seeds: wholeNumber('seeds', values.seeds) ?? 300, from: wholeNumber('from', values.from) ?? 1 };
  const chosen = choose(values.only);
  console.log(heading());
  const queue = new PQueue({ concurrency: availableParallelism() });
  const control = queue.add(() => controlIsSound(seeds));
  // Each line is written as soon as those before it are there, so that the table has the same order every time.
  const outcomes = chosen.map((mutant) => queue.add(() => runMutant(mutant.name, seeds)));
  const isSound = await control;
  let found = 0;
  for (const [index, mutant] of chosen.entries()) {
    const outcome = await outcomes[index];
    if (!outcome) continue;
    if (outcome.kind === 'found') found += 1;
    console.log(line(mutant, outcome, seeds));
  }
  if (!isSound) console.log('Without any mutant the simulation finds something too; look at that first.');
  console.log(`${found} of ${chosen.length} mutants found`);
  return isSound && found === chosen.length ? 0 : 1;
}

function choose(names: readonly string[] | undefined): readonly Mutant[] {
  const unknown = names?.find((name) => !MUTANTS.some((mutant) => mutant.name === name));
  if (unknown !== undefined) throw new Misused(`There is no mutant ${unknown}.`);
  return MUTANTS.filter(({ name }) => names?.includes(name) ?? true);
}

await runProgram(USAGE, main);
