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
  private pausedUntil = 0;
  private lastError: ProviderHealth['lastError'];
  private readonly submitTimes: number[] = [];

  /** When something may be submitted again; not in the future when it may be now. */
  get opensAt(): number {
    return this.pausedUntil;
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
    this.failures += 1;
    this.lastError = { at: now, message: messageOf(error) };
    if (this.failures >= MAX_FAILURES) this.pause(now, this.failures - MAX_FAILURES);
  }

  /** A task was refused for lack of capacity. */
  full(now: number, { message, retryAfterMs, capMs }: Full): void {
    this.failures = 0;
    this.lastError = { at: now, message };
    this.pause(now, this.refusals, boundedWaitMs(retryAfterMs, 0, capMs));
    this.refusals += 1;
  }

  health(now: number): ProviderHealth {
    const isPaused = this.pausedUntil > now;
    return {
      circuit: isPaused ? 'paused' : this.isDoubtful ? 'trying' : 'closed',
      ...(isPaused ? { pausedUntil: this.pausedUntil } : {}),
      ...(this.lastError === undefined ? {} : { lastError: this.lastError }),
      ...(this.submitTimes.length === 0 ? {} : { medianSubmitMs: medianOf(this.submitTimes) }),
    };
  }

  private pause(now: number, times: number, askedMs = 0): void {
    const ms = Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * 2 ** Math.min(times, 10));
    this.pausedUntil = Math.max(this.pausedUntil, now + Math.max(ms, askedMs));
  }
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
