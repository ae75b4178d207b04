import type { Cancellation } from '../cancellation.js';
import type { UploadRecord } from '../uploads/upload.js';
import type { UploadUsage } from '../uploads/usage.js';

/**
 * Keeps uploads. Each method is atomic for one id. Every method may throw `StoreUnavailable`; the outcome of a write
 * that does is unknown.
 */
export interface UploadStore {
  /** Inserts a record if its id is free; durable on return. Otherwise returns the record with that id. */
  insert(
    record: UploadRecord,
  ): Promise<{ readonly inserted: true } | { readonly inserted: false; readonly existing: UploadRecord }>;

  /** The newest committed record, or null. */
  read(uploadId: string): Promise<UploadRecord | null>;

  /** Replaces the record if its version still is `expectedVersion`. Durable on return. */
  replace(next: UploadRecord, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Removes the record if its version still is `expectedVersion`. */
  remove(uploadId: string, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Records with `dueAt` at or before `now`, most overdue first; at most `limit`, 1 to 1,000. */
  due(now: number, limit: number): Promise<readonly UploadRecord[]>;

  /**
   * The storage of one App's uploads, as `usageOf` counts each, summed from an index. Includes all earlier writes, and
   * concurrent ones perhaps. Ends with `CallOver` as soon as the call is over.
   */
  usage(accountId: string, appId: string, call?: Cancellation): Promise<UploadUsage>;
}
