import { RowMapping, type RowTable } from '../rows/row-mapping.js';
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

/** The columns of a table in SQLite, where a UUID is 16 bytes: the SQL that names them, beside their mapping. */
export class Columns<R extends object> extends RowMapping<R> {
  /** For `INSERT INTO table (names) VALUES (places)`. */
  readonly names: string;
  readonly places: string;
  /** For `UPDATE table SET assigned`. */
  readonly assigned: string;
  /** For `SELECT selected`. */
  readonly selected: string;
  /** Only of columns that are all of a row. */
  readonly insertion: string;
  readonly selection: string;

  constructor(rows: RowTable<R>) {
    super(rows);
    const place = (type: string) => (type === 'uuid' ? `unhex(?, '-')` : '?');
    this.names = this.each(({ name }) => name);
    this.places = this.each(({ type }) => place(type));
    this.assigned = this.each(({ name, type }) => `${name} = ${place(type)}`);
    this.selected = this.each(({ name, type }) => (type === 'uuid' ? `hex(${name}) AS ${name}` : name));
    this.insertion = `INSERT INTO ${this.table} (${this.names}) VALUES (${this.places}) ON CONFLICT DO NOTHING`;
    this.selection = `SELECT ${this.selected} FROM ${this.table}`;
  }

  protected override idOf(selected: string): string {
    return uuidOfHex(selected);
  }
}

/** The UUID whose 32 hex digits SQL's `hex` gave. */
export function uuidOfHex(hex: string): string {
  const digits = hex.toLowerCase();
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`;
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

/** The columns of a claim, by the digest of its key. */
export const CLAIM_OF_KEY = `${CLAIMS.selection} WHERE key_digest = unhex(?)`;
