import type { UploadStore } from '../../core/ports/upload-store.js';
import type { UploadRecord } from '../../core/uploads/upload.js';
import { VersionedRecords, type Insertion } from './versioned-records.js';

/** Uploads in this process's memory; gone when the process ends. */
export class MemoryUploadStore implements UploadStore {
  private readonly records = new VersionedRecords<UploadRecord>((record) => record.uploadId);

  async insert(record: UploadRecord): Promise<Insertion<UploadRecord>> {
    return this.records.insert(record);
  }

  async read(uploadId: string): Promise<UploadRecord | null> {
    return this.records.read(uploadId);
  }

  async replace(next: UploadRecord, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.records.replace(next, expectedVersion);
  }

  async remove(uploadId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.records.remove(uploadId, expectedVersion);
  }

  async due(now: number, limit: number): Promise<readonly UploadRecord[]> {
    return this.records.due(now, limit);
  }
}
