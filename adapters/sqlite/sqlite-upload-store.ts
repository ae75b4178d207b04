import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import type { UploadStore } from '../../core/ports/stores.js';
import { type UploadRecord, type UploadUsage, usageOf } from '../../core/uploads/upload.js';
import type { Connections } from './reader.js';
import { SqliteRecords } from './sqlite-records.js';

/** Uploads in SQLite. */
export class SqliteUploadStore extends SqliteRecords<UploadRecord> implements UploadStore {
  constructor(db: Connections) {
    super(db, {
      name: 'uploads',
      insert: 'insertUpload',
      idOf: ({ uploadId }) => uploadId,
      insertedBeside: counted,
      changedBeside: [`, account = unhex(?, '-'), app = unhex(?, '-'), unfinished = ?, bytes = ?`, counted],
    });
  }

  async usage(accountId: string, appId: string, call?: Cancellation): Promise<UploadUsage> {
    throwIfAborted(call);
    const sums = this.db.reader.get(
      `SELECT count(*) AS uploads, total(unfinished) AS unfinished, total(bytes) AS bytes FROM uploads
      WHERE account = unhex(?, '-') AND app = unhex(?, '-')`,
      accountId,
      appId,
    );
    return { ...sums } as unknown as UploadUsage;
  }
}

/** The columns an App's usage is summed of; all null for what does not count. */
function counted(record: UploadRecord): readonly (string | number | null)[] {
  const usage = usageOf(record);
  return usage ? [record.accountId, record.appId, usage.unfinished, usage.bytes] : [null, null, null, null];
}
