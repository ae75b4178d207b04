import { Worker } from 'node:worker_threads';
import type { Batch, Word } from '../thread.js';

const HOOK = new URL('./with-mutant.js', import.meta.url).href;
const THREAD = new URL('../thread.js', import.meta.url);

/** A mutant may wait or loop for ever. No seed takes a hundredth of that, so the bound does not change results. */
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
  /** There was no verdict; `message` describes the failure. */
  | { readonly kind: 'error'; readonly message: string };

/** How to play a thread of the simulation; tests use another program and a shorter bound. */
export interface ThreadOptions {
  readonly program?: URL;
  readonly hangsAfterMs?: number;
}

/**
 * A thread that plays mutants, one after another, each on its own copy of our modules. Packages are loaded once, which
 * is most of a thread's startup cost. A thread that has nothing to play does not keep the process alive.
 */
export class MutantThread {
  /** How many mutants it was given. Their copies stay in its memory. */
  played = 0;
  private readonly worker: Worker;
  private readonly hangsAfterMs: number;
  private broken: Outcome | undefined;
  private bound: NodeJS.Timeout | undefined;
  private answer: (outcome: Outcome) => void = () => undefined;

  constructor({ program = THREAD, hangsAfterMs = SEED_HANGS_AFTER_MS }: ThreadOptions = {}) {
    this.hangsAfterMs = hangsAfterMs;
    this.worker = new Worker(program, { execArgv: ['--import', HOOK] });
    this.worker.on('message', (word: Word) => {
      this.allowTime();
      const outcome = outcomeOf(word);
      if (outcome) this.answer(outcome);
    });
    this.worker.on('error', (error: unknown) =>
      this.breakDown({
        kind: 'error',
        message: error instanceof Error ? (error.stack ?? error.message) : String(error),
      }),
    );
    this.worker.on('exit', (code) =>
      this.breakDown({ kind: 'error', message: `The thread ended by itself, with ${code}.` }),
    );
  }

  /** Whether it can be given another mutant. */
  get isUsable(): boolean {
    return this.broken === undefined;
  }

  /** Plays the seeds, one after another, with this mutant in core, until one of them finds something. */
  async play(mutant: string, seeds: readonly number[]): Promise<Outcome> {
    if (this.broken) return this.broken;
    this.played += 1;
    this.worker.ref();
    const batch: Batch = { seeds, mutant };
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.worker.postMessage(batch);
    try {
      return await new Promise<Outcome>((resolve) => {
        this.answer = resolve;
        this.allowTime();
      });
    } finally {
      clearTimeout(this.bound);
      this.answer = () => undefined;
      this.worker.unref();
    }
  }

  async close(): Promise<void> {
    await this.worker.terminate();
  }

  private allowTime(): void {
    clearTimeout(this.bound);
    this.bound = setTimeout(() => this.breakDown({ kind: 'hangs' }), this.hangsAfterMs);
  }

  private breakDown(outcome: Outcome): void {
    clearTimeout(this.bound);
    this.broken ??= outcome;
    this.answer(this.broken);
  }
}

/** Plays one mutant in a separate thread, which is terminated at the verdict, even when it hangs. */
export async function playMutant(name: string, seeds: readonly number[], options?: ThreadOptions): Promise<Outcome> {
  const thread = new MutantThread(options);
  try {
    return await thread.play(name, seeds);
  } finally {
    await thread.close();
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
  // Number 0 does not name an invariant: the run itself failed, which proves nothing about the check.
  return invariant === 0
    ? { kind: 'error', message }
    : { kind: 'found', found: { seed, invariant, message, step: steps } };
}
