import { StoreUnavailable } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import type { MongoLedger } from './mongo-ledger.js';

/** From how many entries of this process on an account's outbox is emptied in the background. */
export const FLUSH_FROM = 64;
const MAX_BACKGROUND_FLUSHES = 16;
const MAX_COUNTED_ACCOUNTS = 10_000;

/**
 * Decides when outboxes are emptied: in the background after this process has put a few dozen entries into one; and
 * immediately when one is full. A process runs one flush of an account at a time. Entries in the outbox of an idle
 * account, or of one whose writers have ended, are just as safe there, and are moved by age.
 */
export class LedgerFlushes {
  private readonly counts = new Map<string, number>();
  private readonly underWay = new Map<string, Promise<void>>();
  private isClosed = false;

  /** Accounts whose last flush failed. */
  private readonly failing = new Set<string>();

  constructor(
    private readonly ledger: Pick<MongoLedger, 'flush' | 'waitingSince'>,
    private readonly log: Log,
  ) {}

  /** Says that so many entries were put into the account's outbox. */
  added(accountId: string, entries: number): void {
    const count = (this.counts.get(accountId) ?? 0) + entries;
    // An account that is forgotten is flushed a little later, or when its outbox is full.
    if (!this.counts.has(accountId) && this.counts.size >= MAX_COUNTED_ACCOUNTS) this.forgetOldest();
    this.counts.set(accountId, count);
    if (count >= FLUSH_FROM) this.flushBehind(accountId);
  }

  /** Moves the current entries out of the outbox. Throws `StoreUnavailable`. */
  flush(accountId: string): Promise<void> {
    const before = this.underWay.get(accountId) ?? Promise.resolve();
    const run = before.catch(() => undefined).then(() => this.run(accountId));
    this.underWay.set(accountId, run);
    const forget = (): void => {
      if (this.underWay.get(accountId) === run) this.underWay.delete(accountId);
    };
    void run.then(forget, forget);
    return run;
  }

  /**
   * Empties outboxes with an entry from before a time, up to `limit` of them, and answers how many. One that cannot be
   * emptied keeps no other from it. Throws `StoreUnavailable`.
   */
  async flushOld(before: number, limit: number): Promise<number> {
    const accountIds = await this.ledger.waitingSince(before, limit);
    let emptied = 0;
    for (const accountId of accountIds) {
      if (this.isClosed) break;
      try {
        await this.flush(accountId);
        this.failing.delete(accountId);
        emptied += 1;
      } catch (error) {
        if (error instanceof StoreUnavailable) throw error;
        this.failed(accountId, error);
      }
    }
    return emptied;
  }

  /** Waits for the flushes in progress; no new one starts by itself afterwards. */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.allSettled(this.underWay.values());
  }

  private flushBehind(accountId: string): void {
    if (this.isClosed || this.underWay.has(accountId) || this.underWay.size >= MAX_BACKGROUND_FLUSHES) return;
    const emptied = (): void => {
      this.failing.delete(accountId);
      // Entries written meanwhile found a flush in progress, and may have been the last for a long time.
      if ((this.counts.get(accountId) ?? 0) >= FLUSH_FROM) this.flushBehind(accountId);
    };
    void this.flush(accountId).then(emptied, (error: unknown) => this.failed(accountId, error));
  }

  /**
   * The next flush makes up for a failed one: the entries are still in the outbox. A failure is logged once, until a
   * flush succeeds.
   */
  private failed(accountId: string, error: unknown): void {
    if (!this.failing.has(accountId)) this.log.warn('ledger entries not moved', { accountId, error });
    this.failing.add(accountId);
  }

  private async run(accountId: string): Promise<void> {
    const counted = this.counts.get(accountId) ?? 0;
    await this.ledger.flush(accountId);
    const since = (this.counts.get(accountId) ?? counted) - counted;
    if (since > 0) this.counts.set(accountId, since);
    else this.counts.delete(accountId);
  }

  private forgetOldest(): void {
    for (const accountId of this.counts.keys()) {
      this.counts.delete(accountId);
      return;
    }
  }
}
