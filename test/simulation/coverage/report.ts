import { RUN_ROWS } from '../../../core/generation/run/next-step.js';
import { ALLOWED } from '../checker/record-events.js';
import { CALL_FAULTS, FAULTED_CALLS } from '../faults/fault-profile.js';
import type { Result } from '../play-seeds.js';
import { type Branch, branchesOf, type Tally } from './branches.js';
import { unexpected, UNREACHED_ROWS } from './unreached.js';

/** Transitions that a run need not take. No simulated model succeeds without a charge, and no client requests thumbnails. */
const UNCOUNTED = [
  'running submit-again running',
  'running submission-ended running',
  'succeeded content-removed succeeded',
  'succeeded thumbnail-made succeeded',
  'cancelled thumbnail-made cancelled',
];
const STEPS = [...ALLOWED].filter((step) => !UNCOUNTED.includes(step));

const print = (line = '') => process.stdout.write(`${line}\n`);

/** Prints how often each was taken. Returns what a long run should have taken and did not, one line each. */
export function printCoverage({ tally, branches }: Result): string[] {
  printFaults(tally);
  print('\nWhat else befell');
  const others = [...tally].filter(([name]) => !/^(?:call|fault|step|row) /.test(name));
  for (const [name, count] of others) print(`  ${name.padEnd(36)} ${String(count).padStart(9)}`);
  print('\nSteps of generations');
  for (const step of STEPS) print(`  ${step.padEnd(36)} ${String(tally.count(`step ${step}`)).padStart(9)}`);
  print('\nSteps of runs, by the row that decided them, with the invariants it serves');
  for (const { name, serves } of RUN_ROWS)
    print(`  ${name.padEnd(64)} ${String(tally.count(`row ${name}`)).padStart(9)}  ${serves.join(', ')}`);
  const all = branchesOf(branches);
  print('\nBranches of recovery');
  for (const branch of all) if (branch.place.startsWith('core/recovery/')) printBranch(branch);

  const missed = unexpected(all.filter(({ count }) => count === 0));
  print(`\nBranches of core never taken, of ${all.length}, besides those that are named in unreached.ts`);
  for (const branch of missed) printBranch(branch);
  return [
    ...missed.map(({ place, text }) => `${place} was never taken: ${text}`),
    ...RUN_ROWS.filter(({ name }) => tally.count(`row ${name}`) === 0 && !UNREACHED_ROWS.has(name)).map(
      ({ name }) => `No run took the step "${name}".`,
    ),
    ...STEPS.filter((step) => tally.count(`step ${step}`) === 0).map((step) => `No generation took the step ${step}.`),
    ...FAULTED_CALLS.flatMap((call) =>
      CALL_FAULTS.filter((fault) => tally.count(`fault ${fault} ${call}`) === 0).map(
        (fault) => `${fault} never hit ${call}.`,
      ),
    ),
  ];
}

function printFaults(tally: Tally): void {
  const calls = [...tally].flatMap(([name]) => (name.startsWith('call ') ? [name.slice('call '.length)] : []));
  print(`${'Faults by call'.padEnd(28)}${['calls', ...CALL_FAULTS].map((name) => name.padStart(13)).join('')}`);
  for (const call of calls) {
    const counts = [tally.count(`call ${call}`), ...CALL_FAULTS.map((fault) => tally.count(`fault ${fault} ${call}`))];
    print(`  ${call.padEnd(26)}${counts.map((count) => String(count).padStart(13)).join('')}`);
  }
}

function printBranch({ place, text, count }: Branch): void {
  print(`  ${place.padEnd(46)} ${String(count).padStart(9)}  ${text}`);
}
