import type { Cancellation } from '../cancellation.js';
import type { Page, PageRequest } from '../paging.js';
import type { TraceKey, TraceRow, UsageKey, UsageRow, UseRow } from '../usage/usage.js';

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

export interface TracePage {
  /** 1 to 1,000 rows. */
  readonly limit: number;
  /** The place behind which the page begins, a row there or not. */
  readonly after?: Pick<TraceKey, 'day' | 'clientTraceId'>;
}

/**
 * Keeps the rows of usage, which can be computed again from the ledgers. A write is atomic for one row and no more. Every
 * method may throw `StoreUnavailable`; the outcome of a write that does is unknown for each of its rows. There are as many
 * rows as combinations of day, model and credential had use, and one for each account; of an account whose use by trace id
 * was asked for, also as many as combinations of day and trace id, and another one.
 */
export interface UsageStore {
  /** The rows of these keys that there are, in any order. At most 1,000 keys, all of one account and list. */
  read(keys: readonly UsageKey[], call?: Cancellation): Promise<readonly UsageRow[]>;

  /**
   * Writes each row whose stored one has the expected sequence, whether the others have it or not. Durable on return.
   * `conflict`: at least one was not written. At most 1,000 rows, all of one account and list, each key
   * once.
   */
  apply(changes: readonly UsageChange[]): Promise<'applied' | 'conflict'>;

  /** The uses of an account with a day in the range, in the order of days. The row of the whole account has no day. */
  list(accountId: string, range: DayRange, page: PageRequest, call?: Cancellation): Promise<Page<UseRow>>;

  /**
   * The traces of an account with a day in the range, in the order of days and, within each, of trace ids; from an index,
   * also for a place in the middle of a day. Fewer than the limit: there are no more.
   */
  listTraces(accountId: string, range: DayRange, page: TracePage, call?: Cancellation): Promise<readonly TraceRow[]>;
}
