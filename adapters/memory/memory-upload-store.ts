import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import type { UploadStore } from '../../core/ports/stores.js';
import type { UploadRecord } from '../../core/uploads/upload.js';
import { type UploadUsage, usageOf } from '../../core/uploads/usage.js';
import { SumsByOwner } from './sums-by-owner.js';
import { type Insertion, VersionedRecords } from './versioned-records.js';

/** Uploads in this process's memory; gone when the process ends. */
export class MemoryUploadStore implements UploadStore {
  private readonly records = new VersionedRecords<UploadRecord>((record) => record.uploadId);
  private readonly byApp = new SumsByOwner<UploadRecord>(
    ({ accountId, appId }) => `${accountId}/${appId}`,
    (record) => {
      const usage = usageOf(record);
      return usage && [1, usage.unfinished, usage.bytes];
    },
  );

  async insert(record: UploadRecord): Promise<Insertion<UploadRecord>> {
    const insertion = this.records.insert(record);
    if (insertion.inserted) this.byApp.add(record);
    return insertion;
  }

  async read(uploadId: string): Promise<UploadRecord | null> {
    return this.records.read(uploadId);
  }

  async replace(next: UploadRecord, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const before = this.records.read(next.uploadId);
    const outcome = this.records.replace(next, expectedVersion);
    if (outcome === 'applied') this.byApp.replace(before, next);
    return outcome;
  }

  async remove(uploadId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const before = this.records.read(uploadId);
    const outcome = this.records.remove(uploadId, expectedVersion);
    if (outcome === 'applied') this.byApp.replace(before, null);
    return outcome;
  }

  async due(now: number, limit: number): Promise<readonly UploadRecord[]> {
    return this.records.due(now, limit);
  }

  async usage(accountId: string, appId: string, call?: Cancellation): Promise<UploadUsage> {
    throwIfAborted(call);
    const [uploads = 0, unfinished = 0, bytes = 0] = this.byApp.of(`${accountId}/${appId}`);
    return { uploads, unfinished, bytes };
  }
}
