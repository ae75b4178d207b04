import { parentPort } from 'node:worker_threads';
import { SimulatedRun, type Outcome } from './simulated-run.js';
import { watch } from './watch.js';

/** What a thread is asked: to play these seeds, one after another. */
export interface Batch { readonly seeds: readonly number[] }

export interface Played extends Omit<Outcome, 'tally'> {
  readonly tally: readonly (readonly [string, number])[];
}

let current: SimulatedRun | undefined;
process.on('unhandledRejection', (error) => current?.scheduler.fail(error));

async function play(seed: number): Promise<Played> {
  current = new SimulatedRun(seed, watch);
  const outcome = await current.play();
  return { ...outcome, tally: [...outcome.tally] };
}

parentPort?.on('message', async ({ seeds }: Batch) => {
  for (const seed of seeds) parentPort?.postMessage(await play(seed));
  parentPort?.postMessage('done');
});
