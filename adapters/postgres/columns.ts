import { type Column, isUuid, RowMapping, type RowTable } from '../rows/row-mapping.js';
import {
  ACCOUNT_ROWS,
  APP_ROWS,
  ARTEFACT_ROWS,
  BOOT_LEASE_ROWS,
  CAP_USE_ROWS,
  CLAIM_ROWS,
  ENTRY_ROWS,
  FINGERPRINT_ROWS,
  HOLD_ROWS,
  IDENTITY_ROWS,
  KEY_CHANGE_ROWS,
  KEY_ROWS,
  TRACE_ROWS,
  USAGE_SUM_ROWS,
  USE_ROWS,
} from '../rows/tables.js';
import { binaryArray, type ElementType } from './binary-arrays.js';
import type { SqlValue } from './connection.js';

/** Columns with their types, for `unnest`. */
export type TypedColumns = readonly (readonly [name: string, type: ElementType])[];

const SQL_TYPES = { text: 'text', json: 'text', uuid: 'uuid', int: 'int8', bytes: 'bytea' } as const;

/** The columns of a table in PostgreSQL: the SQL that names them, beside their mapping. Places are numbered from `from`. */
export class Columns<R extends object> extends RowMapping<R> {
  /** The table with its schema. */
  readonly qualified: string;
  /** For `INSERT INTO table (names) VALUES (places)` and `SELECT names`. */
  readonly names: string;
  /** Only of columns that are all of a row. */
  readonly insertion: string;
  readonly selection: string;
  readonly typed: TypedColumns;

  constructor(rows: RowTable<R>) {
    super(rows);
    this.qualified = `darkroom.${this.table}`;
    this.typed = this.columns.map(({ name, type }) => [name, SQL_TYPES[type]] as const);
    this.names = this.each(({ name }) => name);
    this.insertion = `INSERT INTO ${this.qualified} (${this.names}) VALUES (${this.places(1)}) ON CONFLICT DO NOTHING`;
    this.selection = `SELECT ${this.names} FROM ${this.qualified}`;
  }

  places(from: number): string {
    return this.each((_, index) => `$${from + index}`);
  }

  /** For `UPDATE table SET assigned`. */
  assigned(from: number): string {
    return this.each(({ name }, index) => `${name} = $${from + index}`);
  }

  /** The rows of records that are given as one array for each column, `(names)` of them. */
  unnested(from: number, alias: string): string {
    return unnest(this.typed, from, alias);
  }

  /** The arrays that `unnested` takes. */
  arraysOf(records: readonly R[]): SqlValue[] {
    return arraysOf(
      this.typed,
      records.map((record) => this.valuesOf(record)),
    );
  }

  /** The columns of a row in `alias`, for a list. */
  of(alias: string): string {
    return this.each(({ name }: Column) => `${alias}.${name}`);
  }
}

/** The id, or null if it is not a UUID: no row has such an id, and PostgreSQL would refuse the statement. */
export function idOrNull(id: string): string | null {
  return isUuid(id) ? id : null;
}

/** `unnest` of typed arrays, as the rows of `alias`. */
export function unnest(columns: TypedColumns, from: number, alias: string): string {
  const arrays = columns.map(([, type], index) => `$${from + index}::${type}[]`);
  return `unnest(${arrays.join(', ')}) AS ${alias} (${columns.map(([name]) => name).join(', ')})`;
}

/** Rows as one array for each of their columns. */
export function arraysOf(
  columns: TypedColumns,
  rows: readonly (readonly (string | number | boolean | null)[])[],
): SqlValue[] {
  return columns.map(([, type], index) =>
    binaryArray(
      type,
      rows.map((row) => row[index] ?? null),
    ),
  );
}

export const ACCOUNTS = new Columns(ACCOUNT_ROWS);
export const HOLDS = new Columns(HOLD_ROWS);
export const ENTRIES = new Columns(ENTRY_ROWS);
export const CAP_USES = new Columns(CAP_USE_ROWS);
export const CLAIMS = new Columns(CLAIM_ROWS);
export const FINGERPRINTS = new Columns(FINGERPRINT_ROWS);
export const BOOT_LEASES = new Columns(BOOT_LEASE_ROWS);
export const APPS = new Columns(APP_ROWS);
export const KEYS = new Columns(KEY_ROWS);
export const KEY_CHANGES = new Columns(KEY_CHANGE_ROWS);
export const IDENTITIES = new Columns(IDENTITY_ROWS);
export const ARTEFACTS = new Columns(ARTEFACT_ROWS);
export const USAGE_SUMS = new Columns(USAGE_SUM_ROWS);
export const USES = new Columns(USE_ROWS);
export const TRACES = new Columns(TRACE_ROWS);
