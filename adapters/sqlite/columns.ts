import { hash } from 'node:crypto';
import type { ApiKey, App } from '../../core/access/credential.js';
import type { AccountTotals, Attribution, CapUse, Entry, Hold } from '../../core/credits/account.js';
import type { Claim, ClaimKey } from '../../core/idempotency/claim.js';
import type { Fingerprint, ProcessLease } from '../../core/idempotency/fingerprint.js';
import type { Artefact, OutsideIdentity } from '../../core/people/person.js';
import type { TraceRow, UseRow } from '../../core/usage/usage.js';
import type { Row, SqlValue } from './database.js';

/** The field that a column has, and after a colon how it is stored: a UUID as 16 bytes, JSON as text, else as it is. */
type Stored<R> = `${keyof R & string}${'' | ':uuid' | ':json'}`;

type Column = readonly [name: string, field: string, form: string | undefined];

/**
 * The columns of a table that hold the fields of a record: the SQL that names them, and the way from a record to their values
 * and back, in one order. An absent field is NULL.
 */
export class Columns<R extends object> {
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
  private readonly columns: readonly Column[];

  constructor(
    readonly table: string,
    columns: Readonly<Record<string, Stored<R>>>,
  ) {
    this.columns = Object.entries(columns).map(([name, stored]) => {
      const [field = '', form] = stored.split(':');
      return [name, field, form];
    });
    const each = (sql: (column: Column) => string) => this.columns.map(sql).join(', ');
    this.names = each(([name]) => name);
    this.places = each(placeOf);
    this.assigned = each((column) => `${column[0]} = ${placeOf(column)}`);
    this.selected = each(([name, , form]) => (form === 'uuid' ? `hex(${name}) AS ${name}` : name));
    this.insertion = `INSERT INTO ${table} (${this.names}) VALUES (${this.places}) ON CONFLICT DO NOTHING`;
    this.selection = `SELECT ${this.selected} FROM ${table}`;
  }

  get count(): number {
    return this.columns.length;
  }

  valuesOf(record: R): SqlValue[] {
    return this.columns.map(([, field, form]) => {
      const value = (record as Record<string, unknown>)[field];
      return form === 'json' ? JSON.stringify(value) : ((value ?? null) as SqlValue);
    });
  }

  readonly recordOf = (row: Row): R => {
    const record: Record<string, unknown> = {};
    for (const [name, field, form] of this.columns) {
      const value = row[name] as SqlValue;
      // `hex` of NULL is the empty text.
      if (value === null || (form === 'uuid' && value === '')) continue;
      record[field] =
        form === undefined ? value : form === 'uuid' ? uuidOfHex(value as string) : JSON.parse(value as string);
    }
    return record as R;
  };

  /** The record of a row that was found, or null. */
  found(row: Row | undefined): R | null {
    return row === undefined ? null : this.recordOf(row);
  }
}

function placeOf([, , form]: Column): string {
  return form === 'uuid' ? `unhex(?, '-')` : '?';
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether the text is a UUID as we write them. SQL's `unhex` is more lenient, so lookups ask this first. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** The UUID whose 32 hex digits SQL's `hex` gave. */
export function uuidOfHex(hex: string): string {
  const digits = hex.toLowerCase();
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`;
}

export const ACCOUNTS = new Columns<AccountTotals>('accounts', {
  id: 'accountId:uuid',
  version: 'version',
  issued: 'issued',
  available: 'available',
  reserved: 'reserved',
  spent: 'spent',
  last_sequence: 'lastSequence',
  name: 'name',
  currency: 'currency',
  created_at: 'createdAt',
  suspended_at: 'suspendedAt',
  erased_at: 'erasedAt',
});

/** The use of credits, and the user; all NULL in rows of releases that did not have them. */
const ATTRIBUTION = {
  credential: 'credentialId',
  model: 'modelKey',
  trace: 'clientTraceId',
  cap_period: 'capPeriod',
  app: 'appId',
  actor: 'actor',
} as const;

/** A record of a ledger with the fields of its attribution among its own. */
export type Flat<R extends { readonly attribution?: Attribution }> = Omit<R, 'attribution'> & Partial<Attribution>;

/** The columns of a hold beside its account. */
export const HOLDS = new Columns<Flat<Hold>>('holds', {
  generation: 'generationId:uuid',
  credits: 'credits',
  held_at: 'heldAt',
  ...ATTRIBUTION,
});

/** The columns of an entry beside its account. */
export const ENTRIES = new Columns<Flat<Omit<Entry, 'accountId'>>>('entries', {
  sequence: 'sequence',
  kind: 'kind',
  from_book: 'from',
  to_book: 'to',
  credits: 'credits',
  at: 'at',
  available_after: 'availableAfter',
  generation: 'generationId:uuid',
  operation_id: 'operationId',
  reason: 'reason',
  ...ATTRIBUTION,
});

/** The columns of the use of a cap beside its account. */
export const CAP_USES = new Columns<CapUse>('cap_uses', { credential: 'credentialId', period: 'period', used: 'used' });

/** The columns of a claim beside its key. */
export const CLAIMS = new Columns<Omit<Claim, keyof ClaimKey>>('claims', {
  version: 'version',
  digest: 'digest',
  subject: 'subjectId:uuid',
  created_at: 'createdAt',
  lease_expires_at: 'leaseExpiresAt',
  remove_at: 'removeAt',
  boot: 'bootId:uuid',
});

/** The columns of a claim, by the digest of its key. */
export const CLAIM_OF_KEY = `${CLAIMS.selection} WHERE key_digest = unhex(?)`;

/** Hexadecimal digits of 16 bytes. */
const KEY_DIGEST_DIGITS = 32;

/**
 * The digest that finds a claim's row, in hexadecimal: 16 bytes of the SHA-256 of its key. It is the same for a UUID as text
 * and for one as SQLite's `hex` writes it. Keys have no order, so each new one changes a page of their index; that page
 * holds these bytes alone, and the rows are appended elsewhere.
 */
export function claimKeyDigest({ accountId, appId, operation, key }: Record<keyof ClaimKey, SqlValue>): string {
  const [account, app] = [accountId, appId].map((id) => String(id).replaceAll('-', '').toLowerCase());
  return hash('sha256', JSON.stringify([account, app, operation, key]), 'hex').slice(0, KEY_DIGEST_DIGITS);
}

/** The columns of a record of equal requests beside its fingerprint. */
export const FINGERPRINTS = new Columns<Omit<Fingerprint, 'fingerprint'>>('fingerprints', {
  account: 'accountId:uuid',
  version: 'version',
  creates: 'creates:json',
  remove_at: 'removeAt',
});

export const BOOT_LEASES = new Columns<ProcessLease>('boot_leases', {
  boot: 'bootId:uuid',
  renewals: 'renewals',
  renewed_at: 'renewedAt',
  remove_at: 'removeAt',
});

export const APPS = new Columns<App>('apps', {
  id: 'appId:uuid',
  account: 'accountId:uuid',
  name: 'name',
  created_at: 'createdAt',
});

/** A key is known by its id, its account, its digest and its hint, which stay as they are. */
const CHANGING_OF_KEY = {
  app: 'appId:uuid',
  version: 'version',
  name: 'name',
  scopes: 'scopes:json',
  created_at: 'createdAt',
  expires_at: 'expiresAt',
  revoked_at: 'revokedAt',
  last_used_at: 'lastUsedAt',
  monthly_cap: 'monthlyCap',
} as const;
export const KEYS = new Columns<ApiKey>('keys', {
  id: 'keyId:uuid',
  account: 'accountId:uuid',
  digest: 'digest',
  hint: 'hint',
  ...CHANGING_OF_KEY,
});
export const KEY_CHANGES = new Columns<ApiKey>('keys', CHANGING_OF_KEY);

export const IDENTITIES = new Columns<OutsideIdentity>('identities', {
  issuer: 'issuer',
  subject: 'subject',
  person: 'personId:uuid',
  linked_at: 'linkedAt',
});

export const ARTEFACTS = new Columns<Artefact>('artefacts', {
  kind: 'kind',
  id: 'id',
  grp: 'group',
  owner: 'owner',
  alias: 'alias',
  data: 'data:json',
  created_at: 'createdAt',
  expires_at: 'expiresAt',
  remove_at: 'removeAt',
  consumed_at: 'consumedAt',
  ended_at: 'endedAt',
});

const SUMS = {
  last_sequence: 'lastSequence',
  generations: 'generations',
  failed: 'failed',
  reserved: 'reservedCredits',
  charged: 'chargedCredits',
  released: 'releasedCredits',
} as const;
export const USAGE_SUMS = new Columns<UseRow | TraceRow>('usage', SUMS);
/** The sums first, then the key. */
export const USES = new Columns<UseRow>('usage', {
  ...SUMS,
  account: 'accountId:uuid',
  day: 'day',
  credential: 'credentialId',
  model: 'modelKey',
  app_use: 'appUse',
});
export const TRACES = new Columns<TraceRow>('usage_by_trace', {
  ...SUMS,
  account: 'accountId:uuid',
  day: 'day',
  trace: 'clientTraceId',
  app_use: 'appUse',
});
