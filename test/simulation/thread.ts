import { parentPort, workerData } from 'node:worker_threads';
import { BranchCounter, type BranchCounts } from './coverage/branch-counts.js';
import type { Outcome } from './simulated-run.js';

/** What a thread is asked: to play these seeds, one after another; or, without any, to say what of core it ran. */
export interface Batch {
  readonly seeds: readonly number[];
}

/** What a thread says: how one seed went, that it is done with a batch, or at last what of core it ran. */
export type Word = { readonly played: Played } | { readonly done: true } | { readonly branches: BranchCounts };

export interface Played extends Omit<Outcome, 'tally'> {
  readonly tally: readonly (readonly [string, number])[];
}

// Refusals and outages are thrown by the thousand, and nobody looks at where from; a replay does.
Error.stackTraceLimit = 0;

// Core must not have been loaded before it is counted.
const counter = workerData === 'counting' ? new BranchCounter() : undefined;
await counter?.start();
const { SimulatedRun } = await import('./simulated-run.js');

let current: InstanceType<typeof SimulatedRun> | undefined;
process.on('unhandledRejection', (error) => {
  if (current === undefined) throw error;
  current.scheduler.fail(error);
});

function say(word: Word): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(word);
}

async function play(seed: number): Promise<Played> {
  current = new SimulatedRun(seed);
  const outcome = await current.play();
  current = undefined;
  return { ...outcome, tally: [...outcome.tally] };
}

async function workThrough({ seeds }: Batch): Promise<void> {
  if (seeds.length === 0) return say({ branches: (await counter?.take()) ?? {} });
  for (const seed of seeds) say({ played: await play(seed) });
  say({ done: true });
}

parentPort?.on('message', (batch: Batch) => void workThrough(batch));
