import type { UUID } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import type { Insertion, UploadStore } from '../../core/ports/stores.js';
import { type UploadRecord, type UploadUsage, usageOf } from '../../core/uploads/upload.js';
import type { MongoConnection } from './connection.js';
import { type RecordDocument, uuidOf, VersionedDocuments } from './documents.js';

/** Only of what counts for its App: what remains of an upload has none of these. */
interface UploadDocument extends RecordDocument {
  readonly account?: UUID | null;
  readonly app?: UUID | null;
  readonly unfinished?: number;
  readonly bytes?: number;
}

/** Uploads in MongoDB. */
export class MongoUploadStore implements UploadStore {
  private readonly documents: VersionedDocuments<UploadRecord, UploadDocument>;

  constructor(connection: MongoConnection) {
    this.documents = new VersionedDocuments(connection, {
      collection: 'uploads',
      byAttention: 'uploads_by_attention',
      idOf: ({ uploadId }) => uploadId,
      fieldsOf: countedFields,
    });
  }

  insert(record: UploadRecord): Promise<Insertion<UploadRecord>> {
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

  async usage(accountId: string, appId: string, call?: Cancellation): Promise<UploadUsage> {
    const [account, app] = [uuidOf(accountId), uuidOf(appId)];
    const isNobody = account === null || app === null;
    const sums = isNobody
      ? []
      : await this.documents.sums(
          { account, app, unfinished: { $gte: 0 } },
          ['unfinished', 'bytes'],
          'uploads_by_app',
          call,
        );
    const [uploads = 0, unfinished = 0, bytes = 0] = sums;
    return { uploads, unfinished, bytes };
  }
}

function countedFields(record: UploadRecord): Omit<UploadDocument, keyof RecordDocument> {
  const usage = usageOf(record);
  return usage ? { account: uuidOf(record.accountId), app: uuidOf(record.appId), ...usage } : {};
}
