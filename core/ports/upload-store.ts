import type { Cancellation } from '../cancellation.js';
import type { UploadRecord } from '../uploads/upload.js';
import type { UploadUsage } from '../uploads/usage.js';

/**
 * Keeps uploads. Each method is atomic for one id. Every method may throw `StoreUnavailable`; a write that does may or
 * may not have happened.
 */
export interface UploadStore {
  /** Inserts a record if its id is free, durable on return; otherwise answers what stands there. */
  insert(record: UploadRecord): Promise<{ readonly inserted: true } | { readonly inserted: false; readonly existing: UploadRecord }>;

  /** The newest committed record, or null. */
  read(uploadId: string): Promise<UploadRecord | null>;

  /** Replaces the record if its version still is `expectedVersion`. Durable on return. */
  replace(next: UploadRecord, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Removes the record if its version still is `expectedVersion`. */
  remove(uploadId: string, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Records with `dueAt` at or before `now`, most overdue first; at most `limit`, 1 to 1,000. */
  due(now: number, limit: number): Promise<readonly UploadRecord[]>;

  /**
   * What the uploads of one App take, as `usageOf` counts each: summed from an index, and so all that was written before and
   * perhaps what is being written. Ends with `CallOver` as soon as the call it is for is over.
   */
  usage(accountId: string, appId: string, call?: Cancellation): Promise<UploadUsage>;
}
