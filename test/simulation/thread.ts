import { setImmediate } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { BranchCounter, type BranchCounts } from './coverage/branches.js';
import { MUTANT_PARAMETER } from './mutants/switch.js';
import type * as SimulatedRunModule from './simulated-run.js';
import type { Outcome, SimulatedRun } from './simulated-run.js';

/** A thread's order: to play these seeds, one after another; or, without any, to report which parts of core it ran. */
export interface Batch {
  readonly seeds: readonly number[];
  /**
   * Plays on a copy of the program with this mutant in it, up to the first seed that fails, which is then the final
   * message. Needs the loader hook of `mutants/with-mutant.ts`.
   */
  readonly mutant?: string;
}

/** A thread's message: the result of one seed, the end of a batch, or at last the parts of core that it ran. */
export type Word = { readonly played: Played } | { readonly done: true } | { readonly branches: BranchCounts };

export interface Played extends Omit<Outcome, 'tally'> {
  readonly tally: readonly (readonly [string, number])[];
}

// Refusals and outages are thrown by the thousand, and their stack traces are not needed; a replay has them.
Error.stackTraceLimit = 0;

// Core is loaded with the first batch, and must not be loaded before counting starts.
const counter = workerData === 'counting' ? new BranchCounter() : undefined;
await counter?.start();

let current: SimulatedRun | undefined;
process.on('unhandledRejection', (error) => {
  if (current === undefined) throw error;
  current.scheduler.fail(error);
});

function say(word: Word): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(word);
}

async function play(run: SimulatedRun): Promise<Played> {
  current = run;
  const outcome = await run.play();
  // A failed run is abandoned in the middle: its later rejections belong to it, not to the next one.
  if (outcome.failure) await setImmediate();
  current = undefined;
  return { ...outcome, tally: [...outcome.tally] };
}

async function workThrough({ seeds, mutant }: Batch): Promise<void> {
  if (seeds.length === 0) return say({ branches: (await counter?.take()) ?? {} });
  const copy = mutant === undefined ? '' : `?${MUTANT_PARAMETER}=${mutant}`;
  const { SimulatedRun: Run } = (await import(`./simulated-run.js${copy}`)) as typeof SimulatedRunModule;
  for (const seed of seeds) {
    const played = await play(new Run(seed));
    say({ played });
    if (mutant !== undefined && played.failure) return;
  }
  say({ done: true });
}

parentPort?.on('message', (batch: Batch) => void workThrough(batch));
