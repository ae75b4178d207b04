import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import type { Erasure } from '../../core/erasure/erasure.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type {
  DeliveryStore,
  ErasureStore,
  Insertion,
  ListedDeliveries,
  RemainsRemoval,
  UploadStore,
} from '../../core/ports/stores.js';
import { type Upload, type UploadRecord, type UploadUsage, usageOf } from '../../core/uploads/upload.js';
import type { Delivery } from '../../core/webhooks/delivery.js';
import { cursorAt, placeBefore } from '../created-cursor.js';
import { recordFrom, recordText } from '../record-text.js';
import { isUuid } from '../rows/row-mapping.js';
import type { SqlValue } from './database.js';
import { type Connections, yieldBetweenPages } from './reader.js';
import { applied } from './writer.js';

/** A table of records, each one JSON text with the columns used in queries beside it. */
interface RecordTable<R> {
  readonly name: 'uploads' | 'deliveries' | 'erasures';
  readonly insert: 'insertUpload' | 'insertDelivery' | 'insertErasure';
  readonly idOf: (record: R) => string;
  /** The values of the columns beside id, version, time and text that an insert has. */
  readonly insertedBeside: (record: R) => readonly SqlValue[];
  /** Columns beside those that a replacement changes too, as `SET` takes them, and their values. */
  readonly changedBeside?: readonly [columns: string, values: (record: R) => readonly SqlValue[]];
}

/** Records found by id and by the time they are due, each written onto the version that its writer saw. */
export class SqliteRecords<R extends { readonly version: number; readonly dueAt: number }> {
  constructor(
    protected readonly db: Connections,
    private readonly table: RecordTable<R>,
  ) {}

  async insert(record: R): Promise<Insertion<R>> {
    const { insert, idOf, insertedBeside } = this.table;
    const values = [idOf(record), record.version, record.dueAt, recordText(record), ...insertedBeside(record)];
    return insertionOf(await this.db.writer.write(insert, ...values));
  }

  async read(id: string, call?: Cancellation): Promise<R | null> {
    throwIfAborted(call);
    const sql = `SELECT doc FROM ${this.table.name} WHERE id = unhex(?, '-')`;
    const row = isUuid(id) ? this.db.reader.get(sql, id) : undefined;
    return row === undefined ? null : recordFrom(row['doc'] as string);
  }

  replace(next: R, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const { name, idOf, changedBeside: [columns, valuesOf] = ['', () => []] } = this.table;
    const sql = `UPDATE ${name} SET version = ?, attention_at = ?, doc = ?${columns} WHERE id = unhex(?, '-') AND version = ?`;
    const values = [next.version, next.dueAt, recordText(next), ...valuesOf(next), idOf(next), expectedVersion];
    return applied(this.db.writer.run(sql, ...values));
  }

  remove(id: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const sql = `DELETE FROM ${this.table.name} WHERE id = unhex(?, '-') AND version = ?`;
    return applied(this.db.writer.run(sql, id, expectedVersion));
  }

  async due(now: number, limit: number): Promise<readonly R[]> {
    const sql = `SELECT doc FROM ${this.table.name} WHERE attention_at <= ? ORDER BY attention_at, id LIMIT ?`;
    return this.db.reader.all(sql, now, checkedLimit(limit)).map((row) => recordFrom(row['doc'] as string));
  }
}

/** The outcome of a write that inserts, or finds the text of the record that has the id. */
export function insertionOf<R extends { readonly dueAt: number }>(result: number | string): Insertion<R> {
  return result === 1 ? { inserted: true } : { inserted: false, existing: recordFrom(result as string) };
}

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

  async list(accountId: string, page: PageRequest): Promise<Page<Upload>> {
    const sql = `SELECT doc FROM uploads WHERE account = unhex(?, '-') AND id > unhex(?, '-') ORDER BY id LIMIT ?`;
    const rows = this.db.reader.all(sql, accountId, page.cursor ?? '', checkedLimit(page.limit) + 1);
    const found = rows.map((row) => recordFrom<Upload>(row['doc'] as string));
    return pageOf(found, page, ({ uploadId }) => uploadId);
  }
}

/** Requests that something be erased, in SQLite. */
export class SqliteErasureStore extends SqliteRecords<Erasure> implements ErasureStore {
  constructor(db: Connections) {
    super(db, {
      name: 'erasures',
      insert: 'insertErasure',
      idOf: ({ erasureId }) => erasureId,
      insertedBeside: () => [],
    });
  }

  removeRemains(): Promise<RemainsRemoval> {
    return this.db.writer.write('rewriteFile') as Promise<RemainsRemoval>;
  }

  emptyLog(): Promise<'done' | 'later'> {
    return this.db.writer.write('emptyLog') as Promise<'done' | 'later'>;
  }
}

/** The columns an App's usage is summed of; all null for what does not count. */
function counted(record: UploadRecord): readonly (string | number | null)[] {
  const usage = usageOf(record);
  return usage ? [record.accountId, record.appId, usage.unfinished, usage.bytes] : [null, null, null, null];
}

/** Webhook deliveries in SQLite. */
export class SqliteDeliveryStore extends SqliteRecords<Delivery> implements DeliveryStore {
  constructor(db: Connections) {
    super(db, {
      name: 'deliveries',
      insert: 'insertDelivery',
      idOf: ({ deliveryId }) => deliveryId,
      insertedBeside: ({ createdAt, endpointId, appId, accountId, generationId }) => [
        createdAt,
        endpointId,
        appId,
        accountId,
        generationId,
      ],
    });
  }

  async list(
    { of, id, createdFrom = 0, createdBefore }: ListedDeliveries,
    page: PageRequest,
    call?: Cancellation,
  ): Promise<Page<Delivery>> {
    await yieldBetweenPages(call);
    const before = placeBefore(page.cursor, createdBefore);
    const rows = this.db.reader.all(
      `SELECT doc FROM deliveries INDEXED BY deliveries_by_${of}
      WHERE ${of} = unhex(?1, '-') AND created_at >= ?2 AND (created_at, id) < (?3, unhex(?4, '-'))
      ORDER BY created_at DESC, id DESC LIMIT ?5`,
      id,
      createdFrom,
      before.createdAt,
      before.id,
      checkedLimit(page.limit) + 1,
    );
    const found = rows.map((row) => recordFrom<Delivery>(row['doc'] as string));
    return pageOf(found, page, ({ createdAt, deliveryId }) => cursorAt({ createdAt, id: deliveryId }));
  }
}

/** Records by name, each written onto the version that its writer saw; 0 means none. */
export class SqliteNamedRecords<R extends { readonly version: number }> {
  constructor(
    private readonly db: Connections,
    private readonly table: string,
    /** The column of the name, and the name of a record. */
    private readonly name: string,
    private readonly nameOf: (record: R) => string,
  ) {}

  async read(name: string, call?: Cancellation): Promise<R | null> {
    throwIfAborted(call);
    const row = this.db.reader.get(`SELECT doc FROM ${this.table} WHERE ${this.name} = ?`, name);
    return row === undefined ? null : (JSON.parse(row['doc'] as string) as R);
  }

  replace(next: R, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const { table, name } = this;
    const values = [next.version, JSON.stringify(next), this.nameOf(next)];
    const { writer } = this.db;
    return applied(
      expectedVersion === 0
        ? writer.run(`INSERT INTO ${table} (version, doc, ${name}) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, ...values)
        : writer.run(
            `UPDATE ${table} SET version = ?, doc = ? WHERE ${name} = ? AND version = ?`,
            ...values,
            expectedVersion,
          ),
    );
  }
}
