import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { addBranchCounts, type BranchCounts, Tally } from './coverage/branches.js';
import type { Batch, Played, Word } from './thread.js';

const BATCH = 10;

export interface Order {
  readonly from: number;
  /** The number of seeds; when absent, seeds are played while `shouldContinue` returns true. */
  readonly seeds?: number;
  /** Whether there is time for more. */
  readonly shouldContinue?: () => boolean;
  readonly threads?: number;
  readonly stopAtFirst?: boolean;
  /** Whether to count what parts of core run. */
  readonly counting?: boolean;
}

export interface Result {
  readonly seedsRun: number;
  readonly steps: number;
  readonly tally: Tally;
  /** In order of seed. */
  readonly failures: readonly Played[];
  /** The parts of core that ran, and how often; empty unless counted. */
  readonly branches: BranchCounts;
}

/**
 * Plays seeds on as many threads as there are processors. The assignment of seeds to threads does not affect the
 * result.
 */
export async function playSeeds(order: Order): Promise<Result> {
  const threads = order.threads ?? Math.min(availableParallelism(), 8);
  const failures: Played[] = [];
  const tally = new Tally();
  let next = order.from;
  let [seedsRun, steps] = [0, 0];
  const end = order.seeds === undefined ? Infinity : order.from + order.seeds;

  const nextBatch = (): Batch | undefined => {
    if (next >= end || (order.stopAtFirst === true && failures.length > 0) || order.shouldContinue?.() === false)
      return undefined;
    const seeds = Array.from({ length: Math.min(BATCH, end - next) }, (_, index) => next + index);
    next += seeds.length;
    return { seeds };
  };
  const note = (one: Played) => {
    seedsRun += 1;
    steps += one.steps;
    tally.addAll(one.tally);
    if (one.failure) failures.push(one);
  };
  const branches = await Promise.all(
    Array.from({ length: threads }, () => workThrough(order.counting === true, nextBatch, note)),
  );
  failures.sort((a, b) => a.seed - b.seed);
  const isCutShort = order.stopAtFirst === true || order.shouldContinue !== undefined;
  if (!isCutShort && seedsRun !== order.seeds) throw new Error(`${seedsRun} seeds were played, not ${order.seeds}.`);
  return { seedsRun, steps, tally, failures, branches: addBranchCounts(branches) };
}

/** One thread, which receives batches until there are none left; then it reports which parts of core it ran. */
function workThrough(
  isCounting: boolean,
  nextBatch: () => Batch | undefined,
  note: (played: Played) => void,
): Promise<BranchCounts> {
  const thread = new Worker(new URL('thread.js', import.meta.url), { workerData: isCounting ? 'counting' : undefined });
  return new Promise<BranchCounts>((resolve, reject) => {
    let hasSaidAll = false;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    const give = () => thread.postMessage(nextBatch() ?? { seeds: [] });
    thread.on('message', (word: Word) => {
      if ('played' in word) note(word.played);
      else if ('done' in word) give();
      else {
        hasSaidAll = true;
        thread.terminate().then(() => resolve(word.branches), reject);
      }
    });
    thread.on('error', reject);
    thread.on('exit', (code) => {
      if (!hasSaidAll) reject(new Error(`A thread ended by itself, with ${code}.`));
    });
    give();
  });
}
