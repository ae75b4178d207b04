import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import PQueue from 'p-queue';
import { MUTANTS } from './list/all.js';
import type { Mutant } from './mutant.js';
import { heading, line } from './report.js';
import { runMutant, type Seeds } from './run-mutant.js';
import { CONTROL } from './switch.js';

const USAGE = 'Usage: npm run test:mutants -- [--seeds N] [--from N] [--only MUTANT]...';

/** Core as it is must pass the same machinery, or what the mutants are found by proves nothing. */
async function controlIsSound(seeds: Seeds): Promise<boolean> {
  const outcome = await runMutant(CONTROL, seeds);
  console.log(line({ name: CONTROL, breaks: [] }, outcome, seeds));
  return outcome.kind === 'survived';
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { seeds: { type: 'string', default: '300' }, from: { type: 'string', default: '1' }, only: { type: 'string', multiple: true } },
  });
  const seeds = { seeds: wholeNumber(values.seeds), from: wholeNumber(values.from) };
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
  if (!isSound || found < chosen.length) process.exitCode = 1;
}

function choose(names: readonly string[] | undefined): readonly Mutant[] {
  const unknown = names?.find((name) => !MUTANTS.some((mutant) => mutant.name === name));
  if (unknown !== undefined) throw new Error(`There is no mutant ${unknown}.`);
  return MUTANTS.filter(({ name }) => names?.includes(name) ?? true);
}

function wholeNumber(text: string): number {
  if (!/^[1-9][0-9]{0,8}$/u.test(text)) throw new Error(`${text} is not a whole number above 0.\n${USAGE}`);
  return Number(text);
}

await main();
