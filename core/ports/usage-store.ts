import type { Cancellation } from '../cancellation.js';
import type { Page, PageRequest } from '../paging.js';
import type { UsageKey, UsageRow } from '../usage/usage.js';

/** A row and the `lastSequence` that the stored one must have; 0 where there must be none. */
export interface UsageChange {
  readonly row: UsageRow;
  readonly expectedSequence: number;
}

/** Days, both included, `2026-01-31`. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/**
 * Keeps the rows of usage, which can be computed again from the ledgers. A write is atomic for one row and no more. Every
 * method may throw `StoreUnavailable`; the outcome of a write that does is unknown for each of its rows. There are as many
 * rows as combinations of day, model and credential had use, and one for each account.
 */
export interface UsageStore {
  /** The rows of these keys that there are, in any order. At most 1,000 keys, all of one account. */
  read(keys: readonly UsageKey[], call?: Cancellation): Promise<readonly UsageRow[]>;

  /**
   * Writes each row whose stored one has the expected sequence, whether the others have it or not. Durable on return.
   * `conflict`: at least one was not written. At most 1,000 rows, all of one account, each key once.
   */
  apply(changes: readonly UsageChange[]): Promise<'applied' | 'conflict'>;

  /** The rows of an account with a day in the range, in the order of days. The row of the whole account has no day. */
  list(accountId: string, range: DayRange, page: PageRequest, call?: Cancellation): Promise<Page<UsageRow>>;
}
