import type { Logger } from 'pino';
import type { StoreUnavailable } from '../../core/errors.js';
import type { Clock } from '../../core/ports/clock.js';
import { sentencesOf } from '../logging/logging.js';

/**
 * Calls must have succeeded for this long before a store counts as available again: intermittent failures are one
 * outage, not many.
 */
const QUIET_MS = 5_000;

export interface OutageParts {
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Away {
  readonly since: number;
  failedCalls: number;
  warnings: number;
  refusedRequests: number;
  /** When a call went well for the first time since the last one that failed. */
  backAt: number | undefined;
}

/**
 * What the log has of one store that cannot answer: a line when it begins, a sum when it ends, each failure at debug
 * level.
 */
export class Outage {
  private away: Away | undefined;
  private cancelEnd: (() => void) | undefined;

  constructor(
    private readonly store: string,
    private readonly parts: OutageParts,
  ) {}

  get isUnderWay(): boolean {
    return this.away !== undefined;
  }

  failed(call: string, error: StoreUnavailable): void {
    const { clock, logger } = this.parts;
    this.cancelEnd?.();
    if (this.away === undefined) {
      this.away = { since: clock.now(), failedCalls: 0, warnings: 0, refusedRequests: 0, backAt: undefined };
      logger.warn({ store: this.store, call, fault: sentencesOf(error) }, 'store away');
    }
    this.away.backAt = undefined;
    this.away.failedCalls += 1;
    if (logger.isLevelEnabled('debug')) logger.debug({ store: this.store, call, err: error }, 'store call failed');
  }

  answered(): void {
    if (this.away === undefined || this.away.backAt !== undefined) return;
    const { clock } = this.parts;
    this.away.backAt = clock.now();
    this.cancelEnd = clock.after(QUIET_MS, () => this.end());
  }

  /** Counts a warning that only says that the store is unavailable. */
  warned(): void {
    if (this.away !== undefined) this.away.warnings += 1;
  }

  /** Counts a request that was refused immediately, because the store is unavailable. */
  refused(): void {
    if (this.away !== undefined) this.away.refusedRequests += 1;
  }

  /** Tells the sum of an outage that is not over, and keeps no timer. */
  close(): void {
    this.end();
  }

  private end(): void {
    this.cancelEnd?.();
    this.cancelEnd = undefined;
    if (this.away === undefined) return;
    const { since, failedCalls, warnings, refusedRequests, backAt } = this.away;
    this.away = undefined;
    const { clock, logger } = this.parts;
    const about = {
      store: this.store,
      awayMs: Math.max(0, (backAt ?? clock.now()) - since),
      failedCalls,
      warnings,
      refusedRequests,
    };
    if (backAt === undefined) logger.warn(about, 'store still away');
    else logger.warn(about, 'store back');
  }
}
