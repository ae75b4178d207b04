import type { UploadStore } from '../../core/ports/upload-store.js';
import type { UploadRecord } from '../../core/uploads/upload.js';
import type { MongoConnection } from './connection.js';
import { VersionedDocuments, type RecordDocument } from './versioned-documents.js';

/** Uploads in MongoDB. */
export class MongoUploadStore implements UploadStore {
  private readonly documents: VersionedDocuments<UploadRecord, RecordDocument>;

  constructor(connection: MongoConnection) {
    this.documents = new VersionedDocuments(connection, {
      collection: 'uploads',
      byAttention: 'uploads_by_attention',
      idOf: ({ uploadId }) => uploadId,
      fieldsOf: () => ({}),
    });
  }

  insert(record: UploadRecord): Promise<{ readonly inserted: true } | { readonly inserted: false; readonly existing: UploadRecord }> {
    return this.documents.insert(record);
  }

  read(uploadId: string): Promise<UploadRecord | null> {
    return this.documents.read(uploadId);
  }

  replace(next: UploadRecord, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.documents.replace(next, expectedVersion);
  }

  remove(uploadId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.documents.remove(uploadId, expectedVersion);
  }

  async due(now: number, limit: number): Promise<readonly UploadRecord[]> {
    return this.documents.due(now, limit);
  }
}
