import type { UUID } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import type { UploadStore } from '../../core/ports/stores.js';
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
export class MongoUploadStore extends VersionedDocuments<UploadRecord, UploadDocument> implements UploadStore {
  constructor(connection: MongoConnection) {
    super(connection, {
      collection: 'uploads',
      byAttention: 'uploads_by_attention',
      idOf: ({ uploadId }) => uploadId,
      fieldsOf: (record) => {
        const usage = usageOf(record);
        return usage ? { account: uuidOf(record.accountId), app: uuidOf(record.appId), ...usage } : {};
      },
    });
  }

  async usage(accountId: string, appId: string, call?: Cancellation): Promise<UploadUsage> {
    const [account, app] = [uuidOf(accountId), uuidOf(appId)];
    const filter = { account, app, unfinished: { $gte: 0 } };
    const isNobody = account === null || app === null;
    const sums = isNobody ? [] : await this.sums(filter, ['unfinished', 'bytes'], 'uploads_by_app', call);
    const [uploads = 0, unfinished = 0, bytes = 0] = sums;
    return { uploads, unfinished, bytes };
  }
}
