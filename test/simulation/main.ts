import { Misused, readOptions, runProgram, wholeNumber } from './command-line.js';
import { playSeeds } from './play-seeds.js';
import { printCoverage } from './coverage/report.js';
import { SimulatedRun } from './simulated-run.js';

const USAGE = `Plays the service as a simulation, a seed a run, and holds every run to what must always be true.

  --seeds N       how many seeds (1000)
  --from N        the first of them (1)
  --hours N       as many seeds as fit into this time, instead
  --seed N        replays one seed and tells what happens in it
  --until-found   stops at the first violation; succeeds if there is one
  --threads N     how many threads (one a processor)
  --json          the result as one line of JSON, and nothing else

Ends with 0 when nothing was found, 1 when something was, 2 when it was called wrongly and 3 when it could not run.
`;

const OPTIONS = {
  'seeds': { type: 'string' },
  'from': { type: 'string' },
  'hours': { type: 'string' },
  'seed': { type: 'string' },
  'threads': { type: 'string' },
  'until-found': { type: 'boolean', default: false },
  'json': { type: 'boolean', default: false },
} as const;

function hoursOf(text: string | undefined): number | undefined {
  const hours = text === undefined ? undefined : Number(text);
  if (hours !== undefined && !(hours > 0 && hours <= 1_000))
    throw new Misused('--hours must be a number above 0, at most 1000.');
  return hours;
}

async function main(): Promise<number> {
  const values = readOptions(OPTIONS);
  const seed = wholeNumber('seed', values.seed);
  if (seed !== undefined) return replay(seed);

  const hours = hoursOf(values.hours);
  const [from, threads, seeds] = [
    wholeNumber('from', values.from) ?? 1,
    wholeNumber('threads', values.threads),
    wholeNumber('seeds', values.seeds),
  ];
  const endsAt = hours === undefined ? undefined : Date.now() + hours * 3_600_000;
  const result = await playSeeds({
    from,
    ...(threads === undefined ? {} : { threads }),
    ...(endsAt === undefined
      ? { seeds: seeds ?? 1_000 }
      : { shouldContinue: () => Date.now() < endsAt, ...(seeds === undefined ? {} : { seeds }) }),
    stopAtFirst: values['until-found'],
    counting: !values['until-found'] && !values.json,
  });
  const [first] = result.failures;
  if (result.seedsRun === 0) throw new Error('There was no time for a single seed.');
  if (values.json) {
    const found = first?.failure ? { seed: first.seed, ...first.failure, step: first.steps } : null;
    process.stdout.write(`${JSON.stringify({ seedsRun: result.seedsRun, found })}\n`);
  } else {
    const missed = printCoverage(result);
    for (const { seed: failed, failure } of result.failures.slice(0, 20))
      process.stdout.write(
        `Seed ${failed}: ${failure?.message}\n  Replay it with: npm run test:simulation -- --seed ${failed}\n`,
      );
    process.stdout.write(
      `${result.seedsRun} seeds, ${result.steps} steps, ${result.failures.length} with a violation\n`,
    );
    if (hours !== undefined && missed.length > 0) {
      process.stdout.write(
        `So long a run should have taken all of it:\n${missed.map((line) => `  ${line}\n`).join('')}`,
      );
      return 1;
    }
  }
  return (first !== undefined) === values['until-found'] ? 0 : 1;
}

async function replay(seed: number): Promise<number> {
  const { failure, steps } = await new SimulatedRun(seed, (line) => process.stdout.write(`${line}\n`)).play();
  process.stdout.write(
    failure ? `Seed ${seed}: ${failure.message}\n` : `Seed ${seed}: ${steps} steps, nothing wrong\n`,
  );
  return failure ? 1 : 0;
}

await runProgram(USAGE, main);
