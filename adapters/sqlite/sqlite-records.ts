import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { checkedLimit } from '../../core/paging.js';
import type { Insertion } from '../../core/ports/stores.js';
import { recordFrom, recordText } from '../record-text.js';
import { isUuid, type SqlValue } from './database.js';
import type { Connections } from './reader.js';
import { applied } from './writer.js';

/** A table of records, each one JSON text with the columns used in queries beside it. */
interface RecordTable<R> {
  readonly name: 'uploads' | 'deliveries';
  readonly insert: 'insertUpload' | 'insertDelivery';
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
