import type { Cancellation } from '../cancellation.js';
import type { Generation, GenerationRecord } from '../generation/generation.js';
import type { UnchargedContent } from '../generation/retention.js';
import type { Page, PageRequest } from '../paging.js';

/** Where a list of due records continues: after this record. */
export interface DueAfter {
  readonly dueAt: number;
  readonly generationId: string;
}

/** Which generations a list holds: all, those of one account, or of one App. Tombstones are in none. */
export type ListedGenerations =
  | { readonly of: 'all' }
  | { readonly of: 'account'; readonly accountId: string }
  | AppGenerations;

/** Those of one App. Each of these lists is in the order of an index, so a page costs no more than what it holds. */
export interface AppGenerations {
  readonly of: 'app';
  readonly appId: string;
  /** Only those in which this has this value. */
  readonly only?: { readonly field: ListedField; readonly value: string };
  /** Only those created at this time or later, in milliseconds. */
  readonly createdFrom?: number;
  /** Only those created before this time, in milliseconds. */
  readonly createdBefore?: number;
}

/** What the generations of an App can be listed by. */
export type ListedField = 'status' | 'modelKey' | 'clientTraceId';

/**
 * Keeps generations and tombstones. Each method is atomic for one id. Every method may throw `StoreUnavailable`; the
 * outcome of a write that does is unknown. A read that is given a `Cancellation` ends with `CallOver` as soon as the
 * call is over.
 */
export interface GenerationStore {
  /**
   * Inserts a record if its id is free; durable on return. Otherwise returns the record with that id and writes
   * nothing.
   */
  insert(
    record: GenerationRecord,
  ): Promise<{ readonly inserted: true } | { readonly inserted: false; readonly existing: GenerationRecord }>;

  /** The newest committed record, or null. A process reads its own writes. */
  read(generationId: string, call?: Cancellation): Promise<GenerationRecord | null>;

  /** Replaces the record if its version still is `expectedVersion`. Durable on return. */
  replace(next: GenerationRecord, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Removes the record if its version still is `expectedVersion`. */
  remove(generationId: string, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /**
   * Records with `dueAt` at or before `now`, most overdue first and by id where that is the same; at most `limit`, 1 to
   * 1,000. With `after`, those behind it in that order; that record itself may have been removed.
   */
  due(now: number, limit: number, after?: DueAfter): Promise<readonly GenerationRecord[]>;

  /** Generations, newest first: those of one App by creation and then id, those of more than one App by id. */
  list(wanted: ListedGenerations, page: PageRequest, call?: Cancellation): Promise<Page<Generation>>;

  /**
   * The count of the account's generations with `unchargedBytes` and the sum of these bytes, from an index of only
   * those. Includes all earlier writes, and concurrent ones perhaps.
   */
  uncharged(accountId: string, call?: Cancellation): Promise<UnchargedContent>;
}
