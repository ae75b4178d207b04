import type { OpenObjects } from '../../adapters/driver.js';
import { StoreUnavailable } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import type { Clock } from '../../core/ports/clock.js';
import type { ObjectFacts, ObjectStore, SignedRequest } from '../../core/ports/object-store.js';
import { identityOf } from './objects-identity.js';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 10_000;

/** Throws what refuses to use these objects. */
type Check = (identity: () => Promise<string>) => Promise<void>;

export interface AwaitedObjectsParts {
  /**
   * Opens the store, and finds out what may be signed for it. Throws `StoreUnavailable` while it is unavailable, and
   * the error of a refusal.
   */
  readonly open: () => Promise<OpenObjects>;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly log: Log;
}

/**
 * An object store that was unavailable when the process started: it is tried again with growing delays, and until it
 * was opened and checked every call is `StoreUnavailable`, including the signing of addresses. One that turns out to be
 * wrong or unusable is reported and stays closed; it is tried again, as the fault may be fixed.
 */
export class AwaitedObjects implements ObjectStore {
  private opened: OpenObjects | undefined;
  private lastRefusal: string | undefined;
  private cancelTry: (() => void) | undefined;
  private isClosed = false;
  private readonly since: number;

  constructor(
    private readonly parts: AwaitedObjectsParts,
    away: StoreUnavailable,
  ) {
    this.since = parts.clock.now();
    parts.log.warn('object store not reached at the start', { fault: away.message });
  }

  /** Tries from now on. `check` says whether the store that was opened has the right objects. */
  begin(check: Check): void {
    this.tryAfter(FIRST_PAUSE_MS, check);
  }

  async signPut(...args: Parameters<ObjectStore['signPut']>): Promise<SignedRequest> {
    return this.reached().signPut(...args);
  }

  async signGet(...args: Parameters<ObjectStore['signGet']>): Promise<SignedRequest> {
    return this.reached().signGet(...args);
  }

  async stat(...args: Parameters<ObjectStore['stat']>): Promise<ObjectFacts | null> {
    return this.reached().stat(...args);
  }

  async read(...args: Parameters<ObjectStore['read']>): ReturnType<ObjectStore['read']> {
    return this.reached().read(...args);
  }

  async write(...args: Parameters<ObjectStore['write']>): ReturnType<ObjectStore['write']> {
    return this.reached().write(...args);
  }

  async copy(...args: Parameters<ObjectStore['copy']>): ReturnType<ObjectStore['copy']> {
    return this.reached().copy(...args);
  }

  async remove(...args: Parameters<ObjectStore['remove']>): Promise<void> {
    return this.reached().remove(...args);
  }

  /** Tries no more, and closes what was opened. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.cancelTry?.();
    await this.opened?.close?.();
  }

  private reached(): ObjectStore {
    if (this.opened === undefined)
      throw new StoreUnavailable('The object store has not been reached since this process started.');
    return this.opened.store;
  }

  private tryAfter(pauseMs: number, check: Check): void {
    if (!this.isClosed) this.cancelTry = this.parts.clock.after(pauseMs, () => void this.tryAgain(pauseMs, check));
  }

  private async tryAgain(pauseMs: number, check: Check): Promise<void> {
    const { open, clock, log } = this.parts;
    let opened: OpenObjects | undefined;
    try {
      const reached = (opened = await open());
      await check(() => identityOf(reached));
      if (this.isClosed) return await opened.close?.();
      this.opened = opened;
      log.info('object store reached', { awayMs: clock.now() - this.since });
    } catch (error) {
      await opened?.close?.().catch(() => undefined);
      this.report(error);
      this.tryAfter(Math.min(2 * pauseMs, LONGEST_PAUSE_MS), check);
    }
  }

  /** Its unavailability is already known; a refusal is logged once, until the reason changes. */
  private report(error: unknown): void {
    if (error instanceof StoreUnavailable) return;
    const fault = error instanceof Error ? error.message : String(error);
    if (fault !== this.lastRefusal) this.parts.log.warn('object store refused', { fault });
    this.lastRefusal = fault;
  }
}
