import type { Cancellation } from '../cancellation.js';
import type { Generation, GenerationRecord } from '../generation/generation.js';
import type { UnchargedContent } from '../generation/retention.js';
import type { Page, PageRequest } from '../paging.js';

/** Where a list of what is due goes on: the last record that was seen of it. */
export interface DueAfter {
  readonly dueAt: number;
  readonly generationId: string;
}

/**
 * Keeps generations and what remains of them. Each method is atomic for one id. Every method may throw
 * `StoreUnavailable`; a write that does may or may not have happened. A read that is given the call it is for ends with
 * `CallOver` as soon as that is over.
 */
export interface GenerationStore {
  /** Inserts a record if its id is free, durable on return; otherwise answers what stands there and writes nothing. */
  insert(record: GenerationRecord): Promise<{ readonly inserted: true } | { readonly inserted: false; readonly existing: GenerationRecord }>;

  /** The newest committed record, or null. Reads what this process wrote before. */
  read(generationId: string, call?: Cancellation): Promise<GenerationRecord | null>;

  /** Replaces the record if its version still is `expectedVersion`. Durable on return. */
  replace(next: GenerationRecord, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Removes the record if its version still is `expectedVersion`. */
  remove(generationId: string, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /**
   * Records with `dueAt` at or before `now`, most overdue first and by id where that is the same; at most `limit`, 1 to
   * 1,000. Those after `after` in that order, where it is given: it need not stand there any more.
   */
  due(now: number, limit: number, after?: DueAfter): Promise<readonly GenerationRecord[]>;

  /** Generations of one account, newest first; of one App of it, when `appId` is given; of all accounts, when neither is. */
  list(accountId: string | undefined, appId: string | undefined, page: PageRequest, call?: Cancellation): Promise<Page<Generation>>;

  /**
   * The account's generations with `unchargedBytes`, and their sum: from an index of those alone, and so all that was written
   * before and perhaps what is being written.
   */
  uncharged(accountId: string, call?: Cancellation): Promise<UnchargedContent>;
}
