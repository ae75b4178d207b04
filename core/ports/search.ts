import type { Cancellation } from '../cancellation.js';
import type { SearchEntry, SearchTerm } from '../search/words.js';

/** Finds the entries of one account that have all of these terms. */
export interface SearchQuery {
  readonly accountId: string;
  /** At least one, and at most 50. */
  readonly terms: readonly SearchTerm[];
  /** Only ids that are less than this one. */
  readonly before: string;
  /** Only ids that are at least this one. */
  readonly from: string;
  /** 1 to 1,000. */
  readonly limit: number;
}

export interface SearchFound {
  /** In descending order, each once. */
  readonly generationIds: readonly string[];
  /** Everything down to this id, included, was examined; absent if nothing that matches is left. */
  readonly examinedTo?: string;
}

/**
 * How far the index has come: it has every generation whose id is at least `oldest` and less than `newest`, unless its content
 * was removed. Both are ids of generations or between two of them.
 */
export interface SearchProgress {
  readonly version: number;
  readonly newest: string;
  readonly oldest: string;
  /** The process that extends the index, and until when others leave it to that process; in milliseconds. */
  readonly holder: string;
  readonly heldUntil: number;
}

/**
 * An index of generations by the words of their prompts and by the fields that they are filtered by, which can be computed
 * again from the generations. Ids are in the order of their text. Every method may throw `StoreUnavailable`; the outcome
 * of a write that does is unknown for each of its entries.
 */
export interface GenerationSearch {
  /**
   * Adds each entry whose id is free: one that has an entry, or was removed, stays as it is. At most 500, all with different
   * ids. Atomic for each entry. Durable on return.
   */
  add(entries: readonly SearchEntry[]): Promise<void>;

  /**
   * Removes the terms of these generations, of which at most 500 are given, and remembers their ids, so that a later `add` has
   * no effect on them; also if they have no entry. Durable on return.
   */
  remove(generationIds: readonly string[]): Promise<void>;

  /** Forgets ids that were removed, of which at most 500 are given. Entries that were not removed stay. Durable on return. */
  forget(generationIds: readonly string[]): Promise<void>;

  /**
   * Entries that match, newest first. A bounded number of entries is examined, so that there may be fewer than the limit, or
   * none, although more match. Includes every addition and removal that has returned. Ends with `CallOver` as soon as the
   * call is over.
   */
  find(query: SearchQuery, call?: Cancellation): Promise<SearchFound>;

  /** The newest committed progress, or null. */
  readProgress(): Promise<SearchProgress | null>;

  /** Writes the progress if its version still is the expected one, which is 0 where there is none. Durable on return. */
  replaceProgress(next: SearchProgress, expectedVersion: number): Promise<'applied' | 'conflict'>;
}
