import { parentPort } from 'node:worker_threads';
import fc from 'fast-check';
import { MUTANT_PARAMETER } from '../../simulation/mutants/switch.js';
import type { Batch, Word } from '../../simulation/thread.js';
import { HISTORIES } from './history.js';
import type * as OneCreate from './one-create.js';
import type * as ServedHistory from './served-history.js';

// Plays repeated creates on a copy of core with a mutant in it: seed 0 is one create with a fault at each call, and any
// other a number of histories drawn from it.
const HISTORIES_OF_A_SEED = 50;

function say(word: Word): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(word);
}

async function play(seed: number, mutant: string): Promise<void> {
  const copy = `?${MUTANT_PARAMETER}=${mutant}`;
  const { playHistory } = (await import(`./served-history.js${copy}`)) as typeof ServedHistory;
  if (seed > 0) {
    for (const history of fc.sample(HISTORIES, { seed, numRuns: HISTORIES_OF_A_SEED })) await playHistory(history);
    return;
  }
  const { faultedCreates } = (await import(`./one-create.js${copy}`)) as typeof OneCreate;
  for (const isExclusive of [true, false])
    for (const kind of ['dies-after', 'lost-request'] as const)
      await faultedCreates({ kind, isExclusive, client: 'ai-sdk' });
}

async function workThrough({ seeds, mutant = '' }: Batch): Promise<void> {
  for (const seed of seeds) {
    try {
      await play(seed, mutant);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return say({ played: { seed, steps: 0, tally: [], failure: { invariant: 11, message } } });
    }
  }
  say({ done: true });
}

parentPort?.on('message', (batch: Batch) => void workThrough(batch));
