import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { checkedLimit } from '../../core/paging.js';
import type { Insertion, UploadStore } from '../../core/ports/stores.js';
import { type UploadRecord, type UploadUsage, usageOf } from '../../core/uploads/upload.js';
import { recordFrom, recordText } from '../record-text.js';
import { isUuid } from './database.js';
import type { Query, SqliteReader } from './reader.js';
import type { SqliteWriter } from './writer.js';

/** Uploads in SQLite: the record as one JSON text, with the columns used in queries beside it. */
export class SqliteUploadStore implements UploadStore {
  private readonly byId: Query;
  private readonly byAttention: Query;
  private readonly byApp: Query;

  constructor(
    private readonly writer: Pick<SqliteWriter, 'write'>,
    reader: SqliteReader,
  ) {
    this.byId = reader.query(`SELECT doc FROM uploads WHERE id = unhex(?, '-')`);
    this.byAttention = reader.query(
      `SELECT doc FROM uploads WHERE attention_at <= ? ORDER BY attention_at, id LIMIT ?`,
    );
    this.byApp = reader.query(`
      SELECT count(*) AS uploads, total(unfinished) AS unfinished, total(bytes) AS bytes FROM uploads
      WHERE account = unhex(?, '-') AND app = unhex(?, '-')`);
  }

  async insert(record: UploadRecord): Promise<Insertion<UploadRecord>> {
    const result = await this.writer.write(
      'insertUpload',
      record.uploadId,
      record.version,
      record.dueAt,
      recordText(record),
      ...counted(record),
    );
    return result === 1 ? { inserted: true } : { inserted: false, existing: recordOf(result) };
  }

  async read(uploadId: string): Promise<UploadRecord | null> {
    const row = isUuid(uploadId) ? this.byId.get(uploadId) : undefined;
    return row === undefined ? null : recordOf(row['doc']);
  }

  async replace(next: UploadRecord, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const changed = await this.writer.write(
      'replaceUpload',
      next.uploadId,
      expectedVersion,
      next.version,
      next.dueAt,
      recordText(next),
      ...counted(next),
    );
    return changed === 1 ? 'applied' : 'conflict';
  }

  async remove(uploadId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const changed = await this.writer.write('removeUpload', uploadId, expectedVersion);
    return changed === 1 ? 'applied' : 'conflict';
  }

  async due(now: number, limit: number): Promise<readonly UploadRecord[]> {
    return this.byAttention.all(now, checkedLimit(limit)).map((row) => recordOf(row['doc']));
  }

  async usage(accountId: string, appId: string, call?: Cancellation): Promise<UploadUsage> {
    throwIfAborted(call);
    const { uploads, unfinished, bytes } = this.byApp.get(accountId, appId) as {
      readonly uploads: number;
      readonly unfinished: number;
      readonly bytes: number;
    };
    return { uploads, unfinished, bytes };
  }
}

/** The columns an App's usage is summed of; all null for what does not count. */
function counted(record: UploadRecord): readonly (string | number | null)[] {
  const usage = usageOf(record);
  return usage ? [record.accountId, record.appId, usage.unfinished, usage.bytes] : [null, null, null, null];
}

/** A text that only `JSON.stringify` of a record has written. */
function recordOf(doc: unknown): UploadRecord {
  return recordFrom(doc as string);
}
