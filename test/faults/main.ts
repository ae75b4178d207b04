/** `npm run test:faults`: the tests that break the running program, with a chosen number of rounds and seed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { FULL_RUN_VARIABLE } from '../harness/run-sizes.js';
import { Misused, readOptions, runProgram, wholeNumber } from '../simulation/command-line.js';

const USAGE = `Kills, freezes and cuts off the running program under load, and holds it to what its clients were told.

  --store S    mongo or postgres: only the rounds over this database
  --rounds N   how many rounds of faults on each database (20 and 8), half of them on each object store, or each number of replicas
  --mixed N    how many rounds during a rolling upgrade, with processes of the release before too (2)
  --seed N     draws the rounds; without it, another seed every time
  --mutant M   breaks the five processes' core as a mutant does, one of the simulation's or of test/faults/changes: then the test
               must fail

KILL_ROUNDS and KILL_SEED are the same for the one embedded process, which is killed 30 times. Everything is played in full.
`;

const OPTIONS = {
  store: { type: 'string' },
  rounds: { type: 'string' },
  mixed: { type: 'string' },
  seed: { type: 'string' },
  mutant: { type: 'string' },
} as const;
const MOCHA = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');
/** The test files for each choice of database. */
const TESTS = { mongo: 'distributed.test.js', postgres: 'postgres*.test.js', all: '**/*.test.js' } as const;

await runProgram(USAGE, async () => {
  const options = readOptions(OPTIONS);
  const [rounds, seed] = [wholeNumber('rounds', options.rounds), wholeNumber('seed', options.seed, 0)];
  const mixed = wholeNumber('mixed', options.mixed, 0);
  const environment = {
    ...process.env,
    [FULL_RUN_VARIABLE]: 'all',
    ...(rounds === undefined ? {} : { FAULT_ROUNDS: String(rounds) }),
    ...(mixed === undefined ? {} : { MIXED_FAULT_ROUNDS: String(mixed) }),
    ...(seed === undefined ? {} : { FAULT_SEED: String(seed) }),
    ...(options.mutant === undefined ? {} : { FAULT_MUTANT: options.mutant }),
  };
  const tests = fileURLToPath(new URL(storeTests(options.store), import.meta.url));
  const mocha = spawn(process.execPath, [MOCHA, tests], { env: environment, stdio: 'inherit' });
  const [code] = (await once(mocha, 'exit')) as [number | null];
  return code ?? 1;
});

function storeTests(store = 'all'): string {
  if (!(store in TESTS)) throw new Misused(`--store is mongo or postgres, not ${store}.`);
  return TESTS[store as keyof typeof TESTS];
}
