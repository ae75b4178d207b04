import { Worker } from 'node:worker_threads';
import type { Batch, Word } from '../thread.js';
import { MUTANT_VARIABLE } from './switch.js';

const HOOK = new URL('./with-mutant.js', import.meta.url).href;
const THREAD = new URL('../thread.js', import.meta.url);

/** A mutant may wait or loop for ever. No seed takes a hundredth of that, so that the bound changes no result. */
const SEED_HANGS_AFTER_MS = 5 * 60_000;

export interface Found {
  readonly seed: number;
  readonly invariant: number;
  readonly message: string;
  readonly step: number;
}

export type Outcome =
  | { readonly kind: 'found'; readonly found: Found }
  | { readonly kind: 'survived' }
  | { readonly kind: 'hangs' }
  /** There was no verdict; `message` says what broke down. */
  | { readonly kind: 'error'; readonly message: string };

/** How to play a thread of the simulation; tests give another program and a shorter bound. */
export interface ThreadOptions {
  readonly program?: URL;
  readonly hangsAfterMs?: number;
}

/**
 * Plays the seeds, one after another, with this mutant in core, until one of them finds something. The mutant is in a
 * thread of its own, which loads all of core anew and is ended with its verdict, also when it hangs.
 */
export async function playMutant(
  name: string,
  seeds: readonly number[],
  { program = THREAD, hangsAfterMs = SEED_HANGS_AFTER_MS }: ThreadOptions = {},
): Promise<Outcome> {
  const thread = new Worker(program, {
    execArgv: ['--import', HOOK],
    env: { ...process.env, [MUTANT_VARIABLE]: name },
  });
  let bound: NodeJS.Timeout | undefined;
  try {
    return await new Promise<Outcome>((resolve) => {
      const allowTime = () => {
        clearTimeout(bound);
        bound = setTimeout(() => resolve({ kind: 'hangs' }), hangsAfterMs);
      };
      thread.on('message', (word: Word) => {
        allowTime();
        const outcome = outcomeOf(word);
        if (outcome) resolve(outcome);
      });
      thread.on('error', (error: unknown) =>
        resolve({ kind: 'error', message: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
      );
      thread.on('exit', (code) => resolve({ kind: 'error', message: `The thread ended by itself, with ${code}.` }));
      allowTime();
      const batch: Batch = { seeds };
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      thread.postMessage(batch);
    });
  } finally {
    // What it says until it has ended would allow it more time, and keep this process.
    thread.removeAllListeners('message');
    clearTimeout(bound);
    await thread.terminate();
  }
}

/** The verdict, once there is one. */
function outcomeOf(word: Word): Outcome | undefined {
  if ('done' in word) return { kind: 'survived' };
  if (!('played' in word) || !word.played.failure) return undefined;
  const {
    seed,
    steps,
    failure: { invariant, message },
  } = word.played;
  // Number 0 is no invariant: the run itself broke down, which proves nothing about the check.
  return invariant === 0
    ? { kind: 'error', message }
    : { kind: 'found', found: { seed, invariant, message, step: steps } };
}
