import type { Cancellation } from '../../core/cancellation.js';
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
import { idOrNull } from './columns.js';
import type { PostgresDatabase, Row, SqlValue } from './connection.js';

/** Before and after every id. */
export const LEAST_ID = '00000000-0000-0000-0000-000000000000';
export const AFTER_ALL_IDS = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The outcome of a conditional write of one record. */
export function outcomeOf(rowCount: number): 'applied' | 'conflict' {
  return rowCount === 1 ? 'applied' : 'conflict';
}

/** How often an insert is tried whose record is taken at one moment and gone at the next. */
const TRIES = 5;

/** Inserts a record, or finds the one that has its key: it may be removed between the two, and the key is free again then. */
export async function insertOrFind<R>(
  insert: () => Promise<boolean>,
  find: () => Promise<R | null>,
): Promise<Insertion<R>> {
  for (let left = TRIES; left > 0; left -= 1) {
    if (await insert()) return { inserted: true };
    const existing = await find();
    if (existing !== null) return { inserted: false, existing };
  }
  throw new Error('A record was inserted and removed by others again and again.');
}

/** The rows that an account has in a table, in the order of their ids, and one more. */
export async function rowsOfAccount(
  db: PostgresDatabase,
  selection: string,
  accountId: string,
  { cursor = LEAST_ID, limit }: PageRequest,
  call?: Cancellation,
): Promise<readonly Row[]> {
  const sql = `${selection} WHERE account = $1 AND id > $2 ORDER BY id LIMIT $3`;
  return (await db.ask(sql, [idOrNull(accountId), idOrNull(cursor), checkedLimit(limit) + 1], call)).rows;
}

/** A table of records, each one JSON text with the columns used in queries beside it. */
interface RecordTable<R> {
  readonly name: 'uploads' | 'deliveries' | 'erasures';
  readonly idOf: (record: R) => string;
  /** Columns beside id, version, time and text, and their values. */
  readonly beside: readonly string[];
  readonly valuesBeside: (record: R) => readonly SqlValue[];
  /** Whether a replacement changes these columns too. */
  readonly changesBeside?: true;
}

/** Records found by id and by the time they are due, each written onto the version that its writer saw. */
class PostgresRecords<R extends { readonly version: number; readonly dueAt: number }> {
  private readonly insertion: string;
  private readonly replacement: string;

  constructor(
    protected readonly db: PostgresDatabase,
    private readonly table: RecordTable<R>,
  ) {
    const { name, beside, changesBeside } = table;
    const columns = ['version', 'attention_at', 'doc', ...beside];
    this.insertion = `INSERT INTO darkroom.${name} (id, ${columns.join(', ')})
      VALUES ($1, ${columns.map((_, index) => `$${index + 2}`).join(', ')}) ON CONFLICT DO NOTHING`;
    const changed = changesBeside ? columns : columns.slice(0, 3);
    this.replacement = `UPDATE darkroom.${name} SET ${changed.map((column, index) => `${column} = $${index + 3}`).join(', ')}
      WHERE id = $1 AND version = $2`;
  }

  insert(record: R): Promise<Insertion<R>> {
    const { idOf, valuesBeside } = this.table;
    const values = [idOf(record), record.version, record.dueAt, recordText(record), ...valuesBeside(record)];
    return insertOrFind(
      async () => (await this.db.ask(this.insertion, values)).rowCount === 1,
      () => this.read(idOf(record)),
    );
  }

  async read(id: string, call?: Cancellation): Promise<R | null> {
    if (!isUuid(id)) return null;
    const { rows } = await this.db.ask(`SELECT doc FROM darkroom.${this.table.name} WHERE id = $1`, [id], call);
    return recordsOf<R>(rows)[0] ?? null;
  }

  async replace(next: R, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const { idOf, valuesBeside, changesBeside } = this.table;
    const values = [idOf(next), expectedVersion, next.version, next.dueAt, recordText(next)];
    const { rowCount } = await this.db.ask(
      this.replacement,
      changesBeside ? [...values, ...valuesBeside(next)] : values,
    );
    return outcomeOf(rowCount);
  }

  async remove(id: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const sql = `DELETE FROM darkroom.${this.table.name} WHERE id = $1 AND version = $2`;
    return outcomeOf((await this.db.ask(sql, [idOrNull(id), expectedVersion])).rowCount);
  }

  async due(now: number, limit: number): Promise<readonly R[]> {
    const sql = `SELECT doc FROM darkroom.${this.table.name} WHERE attention_at <= $1 ORDER BY attention_at, id LIMIT $2`;
    return recordsOf((await this.db.ask(sql, [now, checkedLimit(limit)])).rows);
  }
}

function recordsOf<R extends { readonly dueAt: number }>(rows: readonly Row[]): R[] {
  return rows.map((row) => recordFrom<R>(row['doc'] as string));
}

const UPLOADS: RecordTable<UploadRecord> = {
  name: 'uploads',
  idOf: ({ uploadId }) => uploadId,
  beside: ['account', 'app', 'unfinished', 'bytes'],
  valuesBeside: counted,
  changesBeside: true,
};

/** Uploads in PostgreSQL. */
export class PostgresUploadStore extends PostgresRecords<UploadRecord> implements UploadStore {
  constructor(db: PostgresDatabase) {
    super(db, UPLOADS);
  }

  async usage(accountId: string, appId: string, call?: Cancellation): Promise<UploadUsage> {
    const { rows } = await this.db.ask(
      `SELECT count(*) AS uploads, coalesce(sum(unfinished), 0)::int8 AS unfinished, coalesce(sum(bytes), 0)::int8 AS bytes
      FROM darkroom.uploads WHERE account = $1 AND app = $2`,
      [idOrNull(accountId), idOrNull(appId)],
      call,
    );
    return rows[0] as unknown as UploadUsage;
  }

  async list(accountId: string, page: PageRequest): Promise<Page<Upload>> {
    const rows = await rowsOfAccount(this.db, 'SELECT doc FROM darkroom.uploads', accountId, page);
    return pageOf(recordsOf<Upload>(rows), page, ({ uploadId }) => uploadId);
  }
}

/** The columns an App's usage is summed of; all null for what does not count. */
function counted(record: UploadRecord): readonly SqlValue[] {
  const usage = usageOf(record);
  return usage ? [record.accountId, record.appId, usage.unfinished, usage.bytes] : [null, null, null, null];
}

const ERASURES: RecordTable<Erasure> = {
  name: 'erasures',
  idOf: ({ erasureId }) => erasureId,
  beside: [],
  valuesBeside: () => [],
};

/**
 * Requests that something be erased, in PostgreSQL. The server removes former versions of rows by itself, and the words of a
 * search index when it is built again.
 */
export class PostgresErasureStore extends PostgresRecords<Erasure> implements ErasureStore {
  constructor(db: PostgresDatabase) {
    super(db, ERASURES);
  }

  removeRemains(): Promise<RemainsRemoval> {
    return Promise.resolve('done');
  }

  emptyLog(): Promise<'done' | 'later'> {
    return Promise.resolve('done');
  }
}

const DELIVERIES: RecordTable<Delivery> = {
  name: 'deliveries',
  idOf: ({ deliveryId }) => deliveryId,
  beside: ['created_at', 'endpoint', 'app', 'account', 'generation'],
  valuesBeside: ({ createdAt, endpointId, appId, accountId, generationId }) => [
    createdAt,
    endpointId,
    appId,
    accountId,
    generationId ?? null,
  ],
};

/** Webhook deliveries in PostgreSQL. */
export class PostgresDeliveryStore extends PostgresRecords<Delivery> implements DeliveryStore {
  constructor(db: PostgresDatabase) {
    super(db, DELIVERIES);
  }

  async list(
    { of, id, createdFrom = 0, createdBefore }: ListedDeliveries,
    page: PageRequest,
    call?: Cancellation,
  ): Promise<Page<Delivery>> {
    const before = placeBefore(page.cursor, createdBefore);
    const { rows } = await this.db.ask(
      `SELECT doc FROM darkroom.deliveries WHERE ${of} = $1 AND created_at >= $2 AND (created_at, id) < ($3, $4)
      ORDER BY created_at DESC, id DESC LIMIT $5`,
      [idOrNull(id), createdFrom, before.createdAt, before.id, checkedLimit(page.limit) + 1],
      call,
    );
    return pageOf(recordsOf<Delivery>(rows), page, ({ createdAt, deliveryId }) =>
      cursorAt({ createdAt, id: deliveryId }),
    );
  }
}

/** The values of the columns beside the text of a record that is copied from another database. */
export const COLUMNS_BESIDE = {
  uploads: (text: string) => columnsBeside(UPLOADS, text),
  deliveries: (text: string) => columnsBeside(DELIVERIES, text),
  erasures: (text: string) => columnsBeside(ERASURES, text),
} as const;

function columnsBeside<R extends { readonly version: number; readonly dueAt: number }>(
  { beside, valuesBeside }: RecordTable<R>,
  text: string,
): Row {
  const record = recordFrom<R>(text);
  const values = valuesBeside(record);
  return {
    version: record.version,
    attention_at: record.dueAt,
    ...Object.fromEntries(beside.map((name, index) => [name, values[index]])),
  };
}

/** Records by name, each written onto the version that its writer saw; 0 means none. */
export class PostgresNamedRecords<R extends { readonly version: number }> {
  constructor(
    private readonly db: PostgresDatabase,
    private readonly table: 'provider_uses' | 'webhook_endpoints' | 'half_hours' | 'search_progress',
    /** The column of the name, and the name of a record. */
    private readonly name: string,
    private readonly nameOf: (record: R) => string,
  ) {}

  async read(name: string, call?: Cancellation): Promise<R | null> {
    const { rows } = await this.db.ask(`SELECT doc FROM darkroom.${this.table} WHERE ${this.name} = $1`, [name], call);
    return rows[0] === undefined ? null : (JSON.parse(rows[0]['doc'] as string) as R);
  }

  async replace(next: R, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const { table, name } = this;
    const values = [this.nameOf(next), next.version, JSON.stringify(next)];
    const { rowCount } = await (expectedVersion === 0
      ? this.db.ask(
          `INSERT INTO darkroom.${table} (${name}, version, doc) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
          values,
        )
      : this.db.ask(`UPDATE darkroom.${table} SET version = $2, doc = $3 WHERE ${name} = $1 AND version = $4`, [
          ...values,
          expectedVersion,
        ]));
    return outcomeOf(rowCount);
  }
}
