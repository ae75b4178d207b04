import type { Logger } from 'pino';
import { ServiceError, StoreUnavailable } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import type { Clock } from '../../core/ports/machine.js';
import { type Store, storeOf } from '../../core/ports/ports.js';
import { sentencesOf } from '../logging/logging.js';
import type { StoreObserver } from '../metrics/observed-calls.js';
import { UNAVAILABLE_RETRY_MS } from '../service-errors.js';

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
 * Logs the outage of one store: a line when it begins, a sum when it ends, each failure at debug
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

  readonly answered = (): void => {
    if (this.away === undefined || this.away.backAt !== undefined) return;
    const { clock } = this.parts;
    this.away.backAt = clock.now();
    this.cancelEnd = clock.after(QUIET_MS, () => this.end());
  };

  /** Counts a warning that only says that the store is unavailable. */
  warned(): void {
    if (this.away !== undefined) this.away.warnings += 1;
  }

  /** Counts a request that was refused immediately, because the store is unavailable. */
  refused(): void {
    if (this.away !== undefined) this.away.refusedRequests += 1;
  }

  /** Logs the sum of an outage that is not over, and stops its timer. */
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

/** Usually served from local data: their success says nothing about the store. */
const WITHOUT_STORE: ReadonlySet<string> = new Set(['objects.signPut', 'objects.signGet']);

/**
 * The stores of one process, and whether they answer: an outage of each is logged once, counted, and summed up at its
 * end.
 */
export class Outages {
  private readonly outages: Readonly<Record<Store, Outage>>;

  constructor(parts: OutageParts) {
    this.outages = {
      'database': new Outage('database', parts),
      'objects': new Outage('objects', parts),
      'wake-ups': new Outage('wake-ups', parts),
    };
  }

  /** Reports the calls of each store. `onDatabaseAway` is called for each that the database could not answer. */
  observer(onDatabaseAway: () => void = () => undefined): StoreObserver {
    return (port, method) => {
      const store = storeOf(port);
      const outage = this.outages[store];
      const call = `${port}.${method}`;
      return {
        ...(WITHOUT_STORE.has(call) ? {} : { answered: outage.answered }),
        failed: (error) => {
          if (!(error instanceof StoreUnavailable)) return;
          outage.failed(call, error);
          if (store === 'database') onDatabaseAway();
        },
      };
    };
  }

  /** Counts a request that was refused immediately, because the database is unavailable. */
  refused(): void {
    this.outages.database.refused();
  }

  /**
   * The same log without the warnings whose only cause is a current outage: they are counted. All others are passed on.
   */
  quiet(log: Log): Log {
    const underWay = (): Outage | undefined => Object.values(this.outages).find(({ isUnderWay }) => isUnderWay);
    return {
      info: (event, about) => log.info(event, about),
      warn: (event, about) => {
        const outage = about['error'] instanceof StoreUnavailable ? underWay() : undefined;
        if (outage === undefined) log.warn(event, about);
        else outage.warned();
      },
    };
  }

  /** Logs the sums of outages that are not over. */
  close(): void {
    for (const outage of Object.values(this.outages)) outage.close();
  }
}

/** The time from a failed probe to the next one. */
const PROBE_AGAIN_MS = 500;

/**
 * Refuses immediately what the database could not answer anyway. After a failed call the database is asked whether it
 * is ready, one probe at a time, until it is; while the last probe failed the gate is closed. A failed
 * call alone does not close the gate.
 */
export class StoreGate {
  private isShut = false;
  private isProbing = false;
  private isClosed = false;
  private cancelProbe: (() => void) | undefined;

  /** `onRefused` is called for each request that is refused. */
  constructor(
    private readonly isReady: () => Promise<boolean>,
    private readonly clock: Pick<Clock, 'after'>,
    private readonly onRefused: () => void = () => undefined,
  ) {}

  /** Reports a call that failed because the database was unavailable. */
  suspect(): void {
    if (this.isProbing || this.isClosed) return;
    this.isProbing = true;
    void this.probe();
  }

  /** Throws SERVICE_UNAVAILABLE while the database is known to be unavailable, unless the request does not need it. */
  readonly requireOpen = (wouldAsk: () => boolean = () => true): void => {
    if (!this.isShut || !wouldAsk()) return;
    this.onRefused();
    throw new ServiceError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: UNAVAILABLE_RETRY_MS });
  };

  /** Opens permanently: from now on the stores themselves answer. */
  close(): Promise<void> {
    this.isClosed = true;
    this.isShut = false;
    this.cancelProbe?.();
    return Promise.resolve();
  }

  private async probe(): Promise<void> {
    const isReady = await this.isReady().catch(() => false);
    this.isProbing = !isReady && !this.isClosed;
    this.isShut = this.isProbing;
    if (this.isProbing) this.cancelProbe = this.clock.after(PROBE_AGAIN_MS, () => void this.probe());
  }
}
