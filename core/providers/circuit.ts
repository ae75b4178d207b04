import { boundedWaitMs } from '../generation/run/waiting.js';
import type { ProviderHealth } from './provider-use.js';

/** So many calls in a row without an answer pause a provider. */
const MAX_FAILURES = 5;
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
const REMEMBERED_TIMES = 32;

/**
 * What one process has seen of a provider: whether it answers, has capacity, and how long it takes. After a pause one task
 * at a time is submitted, until one is taken.
 */
export class Circuit {
  private failures = 0;
  private refusals = 0;
  /** Where it did not answer, and where it was full. */
  private silent: Pause | undefined;
  private crowded: Pause | undefined;
  private lastError: ProviderHealth['lastError'];
  private readonly submitTimes: number[] = [];

  /** When something may be submitted again; not after `now` when it may be at once. */
  opensAt(now: number): number {
    return Math.max(endOf(this.silent, now), endOf(this.crowded, now));
  }

  /** Whether only one task may be submitted, to see whether the provider works again. */
  get isDoubtful(): boolean {
    return this.failures >= MAX_FAILURES || this.refusals > 0;
  }

  /** A call was answered; `submitMs` of a submission that was taken. */
  answered(submitMs?: number): void {
    this.failures = 0;
    if (submitMs === undefined) return;
    this.refusals = 0;
    this.submitTimes.push(submitMs);
    if (this.submitTimes.length > REMEMBERED_TIMES) this.submitTimes.shift();
  }

  failed(now: number, error: unknown): void {
    this.lastError = { at: now, message: messageOf(error) };
    // A call that was under way when the pause began says nothing new.
    if (endOf(this.silent, now) > now) return;
    this.failures += 1;
    if (this.failures >= MAX_FAILURES) {
      this.silent = { from: now, until: now + pauseMs(this.failures - MAX_FAILURES) };
    }
  }

  /** A task was refused for lack of capacity. */
  full(now: number, { message, retryAfterMs, capMs }: Full): void {
    this.failures = 0;
    this.lastError = { at: now, message };
    const leastMs = pauseMs(this.refusals);
    const asked = now + Math.max(leastMs, boundedWaitMs(retryAfterMs, 0, capMs));
    this.crowded = { from: now, until: Math.max(endOf(this.crowded, now), asked) };
    this.refusals += 1;
  }

  health(now: number): ProviderHealth {
    const opensAt = this.opensAt(now);
    const isPaused = opensAt > now;
    return {
      circuit: isPaused ? 'paused' : this.isDoubtful ? 'trying' : 'closed',
      ...(isPaused ? { pausedUntil: opensAt } : {}),
      ...(this.lastError === undefined ? {} : { lastError: this.lastError }),
      ...(this.submitTimes.length === 0 ? {} : { medianSubmitMs: medianOf(this.submitTimes) }),
    };
  }
}

/** In milliseconds since the epoch. */
export interface Pause {
  readonly from: number;
  readonly until: number;
}

/**
 * When a pause ends, in milliseconds since the epoch; 0 without one. A clock that is set back to before it began ends it,
 * as it would last longer by as much.
 */
export function endOf(pause: Pause | undefined, now: number): number {
  return pause === undefined || now < pause.from ? 0 : pause.until;
}

function pauseMs(times: number): number {
  return Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * 2 ** Math.min(times, 10));
}

interface Full {
  readonly message: string;
  readonly retryAfterMs: number | undefined;
  /** The longest wait that it may ask for. */
  readonly capMs: number;
}

const MAX_MESSAGE = 300;

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, MAX_MESSAGE);
}

function medianOf(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}
