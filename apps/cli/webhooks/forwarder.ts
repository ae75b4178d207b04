import { setTimeout as sleep } from 'node:timers/promises';
import type { ListenedMessage } from './listened-message.js';
import type { Posted } from './post-message.js';

/** How many are posted at the same time; the service sends as many to one address. */
const MAX_POSTING = 4;
/** How many wait, those for their next attempt among them, before no more are taken. */
const MAX_OPEN = 100;
/** Before the second attempt and the ones after it, in seconds; then it is given up. */
const PAUSES_S = [1, 2, 5, 10];
const MAX_RETRY_AFTER_S = 60;
const GONE = 410;

export type ForwardState = 'delivered' | 'retrying' | 'exhausted';

export interface Attempt extends Posted {
  readonly message: ListenedMessage;
  /** 1 for the first one. */
  readonly attempt: number;
  readonly state: ForwardState;
  /** Until the next one. */
  readonly waitSeconds?: number;
}

interface Open {
  /** Ends its attempts: a later message of the generation has come. */
  readonly superseded: AbortController;
  done: Promise<void>;
}

/**
 * Posts messages, a bounded number at a time and each a bounded number of times. Of one generation none is posted after a
 * later one.
 */
export class Forwarder {
  private readonly open = new Map<string, Open>();
  private readonly all = new Set<Promise<void>>();
  private readonly turns: (() => void)[] = [];
  private posting = 0;
  private failed: { readonly error: unknown } | undefined;
  readonly counts = { delivered: 0, exhausted: 0 };

  constructor(
    private readonly post: (message: ListenedMessage) => Promise<Posted>,
    private readonly tell: (attempt: Attempt) => void,
    /** Ends all attempts that have not begun. */
    private readonly stop: AbortSignal,
  ) {}

  /** Takes a message; resolves when there is room for another one. Rejects with what a post before it was the first to throw. */
  async take(message: ListenedMessage): Promise<void> {
    this.throwIfFailed();
    const before = this.open.get(message.generationId);
    before?.superseded.abort();
    const open: Open = { superseded: new AbortController(), done: Promise.resolve() };
    open.done = this.deliver(message, open, before?.done)
      .catch((error: unknown) => {
        this.failed ??= { error };
      })
      .finally(() => {
        this.all.delete(open.done);
        if (this.open.get(message.generationId) === open) this.open.delete(message.generationId);
      });
    this.open.set(message.generationId, open);
    this.all.add(open.done);
    while (this.all.size >= MAX_OPEN) await Promise.race(this.all);
    this.throwIfFailed();
  }

  /** Resolves when all that was taken is delivered or given up. Rejects as `take` does. */
  async settled(): Promise<void> {
    while (this.all.size > 0 && this.failed === undefined) await Promise.race(this.all);
    this.throwIfFailed();
  }

  private throwIfFailed(): void {
    if (this.failed !== undefined) throw this.failed.error;
  }

  private async deliver(
    message: ListenedMessage,
    { superseded }: Open,
    before: Promise<void> | undefined,
  ): Promise<void> {
    await before;
    const signal = AbortSignal.any([superseded.signal, this.stop]);
    for (let attempt = 1; ; attempt += 1) {
      const posted = await this.inTurn(signal, () => this.post(message));
      if (posted === undefined) return;
      const { waitSeconds, ...outcome } = outcomeOf(posted, attempt);
      if (outcome.state !== 'retrying') this.counts[outcome.state] += 1;
      this.tell({ ...posted, ...outcome, message, attempt, ...(waitSeconds === undefined ? {} : { waitSeconds }) });
      if (waitSeconds === undefined) return;
      await sleep(waitSeconds * 1_000, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Undefined, with nothing done, when the signal has fired by its turn. */
  private async inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
    if (this.posting >= MAX_POSTING) await new Promise<void>((resolve) => this.turns.push(resolve));
    else this.posting += 1;
    try {
      return signal.aborted ? undefined : await work();
    } finally {
      const next = this.turns.shift();
      if (next === undefined) this.posting -= 1;
      else next();
    }
  }
}

function outcomeOf(
  { status = 0, retryAfter }: Posted,
  attempt: number,
): { readonly state: ForwardState; readonly waitSeconds?: number } {
  if (status >= 200 && status < 300) return { state: 'delivered' };
  const pause = PAUSES_S[attempt - 1];
  if (pause === undefined || status === GONE) return { state: 'exhausted' };
  return { state: 'retrying', waitSeconds: Math.max(pause, Math.min(retryAfter ?? 0, MAX_RETRY_AFTER_S)) };
}
