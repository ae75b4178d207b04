import { boundedWaitMs } from '../generation/run/waiting.js';
import type { Moment, ProviderHealth } from './provider-use.js';

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
  /** Until when it is paused because it did not answer, and because it was full, by the monotonic clock. */
  private silentUntil = -Infinity;
  private crowdedUntil = -Infinity;
  private lastError: ProviderHealth['lastError'];
  private readonly submitTimes: number[] = [];

  /** When something may be submitted again, by the monotonic clock; a time that has passed when it may be at once. */
  get opensAt(): number {
    return Math.max(this.silentUntil, this.crowdedUntil);
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

  failed({ wall, monotonic }: Moment, error: unknown): void {
    this.lastError = { at: wall, message: messageOf(error) };
    // A call that was under way when the pause began says nothing new.
    if (this.silentUntil > monotonic) return;
    this.failures += 1;
    if (this.failures >= MAX_FAILURES) this.silentUntil = monotonic + pauseMs(this.failures - MAX_FAILURES);
  }

  /** A task was refused for lack of capacity. */
  full({ wall, monotonic }: Moment, { message, retryAfterMs, capMs }: Full): void {
    this.failures = 0;
    this.lastError = { at: wall, message };
    const waitMs = Math.max(pauseMs(this.refusals), boundedWaitMs(retryAfterMs, 0, capMs));
    this.crowdedUntil = Math.max(this.crowdedUntil, monotonic + waitMs);
    this.refusals += 1;
  }

  /** For operators, with the end of a pause by the wall clock. */
  health({ wall, monotonic }: Moment): ProviderHealth {
    const pausedMs = this.opensAt - monotonic;
    return {
      circuit: pausedMs > 0 ? 'paused' : this.isDoubtful ? 'trying' : 'closed',
      ...(pausedMs > 0 ? { pausedUntil: wall + pausedMs } : {}),
      ...(this.lastError === undefined ? {} : { lastError: this.lastError }),
      ...(this.submitTimes.length === 0 ? {} : { medianSubmitMs: medianOf(this.submitTimes) }),
    };
  }
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
