import type { ApiKey, App } from '../core/access/credential.js';
import type { AccountTotals } from '../core/credits/account.js';
import type { Claim, ClaimKey } from '../core/idempotency/claim.js';
import type { Fingerprint, ProcessLease } from '../core/idempotency/fingerprint.js';
import type { Artefact, OutsideIdentity } from '../core/people/person.js';
import type { TraceRow, UseRow } from '../core/usage/usage.js';
import { type Column, RowMapping, type RowTable, type RowValue } from './rows/row-mapping.js';
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
  KEY_ROWS,
  TRACE_ROWS,
  USE_ROWS,
} from './rows/tables.js';

/** A part of an account, in a row of its own. */
export type OfAccount<R> = R & { readonly accountId: string };

/** A claim by the digest of its key, which is all of the key that SQLite and PostgreSQL keep. In hexadecimal. */
export type CopiedClaim = Omit<Claim, keyof ClaimKey> & { readonly keyDigest: string };

/** A record as the text that every database keeps it as. */
export interface TextOfRecord {
  readonly id: string;
  readonly text: string;
}

export interface CopiedPerson extends TextOfRecord {
  readonly accountId: string;
  readonly version: number;
  readonly email: string;
}

export interface CopiedNamed {
  readonly name: string;
  readonly version: number;
  readonly text: string;
}

export interface EndedGroup {
  readonly group: string;
  readonly at: number;
  readonly removeAt: number;
}

/** The values of a row, in the order of its table's columns: ids and bytes in their usual notation, records as JSON. */
export type CopiedRow = readonly RowValue[];

/** A table as it is copied from one database to another. */
export class CopiedTable<R extends object> extends RowMapping<R> {
  constructor(
    rows: RowTable<R>,
    /** The columns that identify a row. */
    readonly key: readonly string[],
  ) {
    super(rows);
  }
}

function ofAccount<R extends object>({ table, columns }: RowTable<R>, key: string): CopiedTable<OfAccount<R>> {
  const all = { account: 'accountId:uuid', ...columns } as RowTable<OfAccount<R>>['columns'];
  return new CopiedTable<OfAccount<R>>({ table, columns: all }, ['account', key]);
}

const texts = (table: string) =>
  new CopiedTable<TextOfRecord>({ table, columns: { id: 'id:uuid', doc: 'text' } }, ['id']);
const named = (table: string, name: string) =>
  new CopiedTable<CopiedNamed>({ table, columns: { [name]: 'name', version: 'version:int', doc: 'text' } }, [name]);

/**
 * The tables that are copied when an installation is moved. Everything else is computed from them: wake-ups from due records,
 * the search index from the generations, and the columns beside the text of a record from that text.
 */
export const COPIED_TABLES = {
  accounts: new CopiedTable<AccountTotals>(ACCOUNT_ROWS, ['id']),
  holds: ofAccount(HOLD_ROWS, 'generation'),
  cap_uses: ofAccount(CAP_USE_ROWS, 'credential'),
  entries: ofAccount(ENTRY_ROWS, 'sequence'),
  claims: new CopiedTable<CopiedClaim>(
    { table: 'claims', columns: { key_digest: 'keyDigest:bytes', ...CLAIM_ROWS.columns } },
    ['key_digest'],
  ),
  fingerprints: new CopiedTable<Fingerprint>(
    { table: 'fingerprints', columns: { fingerprint: 'fingerprint:bytes', ...FINGERPRINT_ROWS.columns } },
    ['fingerprint'],
  ),
  boot_leases: new CopiedTable<ProcessLease>(BOOT_LEASE_ROWS, ['boot']),
  generations: texts('generations'),
  uploads: texts('uploads'),
  deliveries: texts('deliveries'),
  erasures: texts('erasures'),
  apps: new CopiedTable<App>(APP_ROWS, ['id']),
  keys: new CopiedTable<ApiKey>(KEY_ROWS, ['id']),
  people: new CopiedTable<CopiedPerson>(
    {
      table: 'people',
      columns: { id: 'id:uuid', account: 'accountId:uuid', version: 'version:int', email: 'email', doc: 'text' },
    },
    ['id'],
  ),
  identities: new CopiedTable<OutsideIdentity>(IDENTITY_ROWS, ['issuer', 'subject']),
  artefacts: new CopiedTable<Artefact>(ARTEFACT_ROWS, ['kind', 'id']),
  ended_groups: new CopiedTable<EndedGroup>(
    { table: 'ended_groups', columns: { grp: 'group', at: 'at:int', remove_at: 'removeAt:int' } },
    ['grp'],
  ),
  provider_uses: named('provider_uses', 'provider'),
  webhook_endpoints: named('webhook_endpoints', 'app'),
  half_hours: named('half_hours', 'slot'),
  usage: new CopiedTable<UseRow>(USE_ROWS, ['account', 'day', 'credential', 'model', 'app_use']),
  usage_by_trace: new CopiedTable<TraceRow>(TRACE_ROWS, ['account', 'day', 'trace', 'app_use']),
} as const;

export type CopiedTableName = keyof typeof COPIED_TABLES;

export const COPIED_TABLE_NAMES = Object.keys(COPIED_TABLES) as readonly CopiedTableName[];

/** How many rows are read and written at a time. */
export const ROWS_AT_ONCE = 500;

/** How a database of rows is read. The table has the alias `stored`. */
export interface RowReads {
  readonly table: (name: string) => string;
  /** The column as it is selected, under its own name. */
  readonly selected: (column: Column) => string;
  /** The place of a value of a key column, numbered from 1. */
  readonly placeOf: (column: Column, place: number) => string;
  readonly valueOf: (column: Column, selected: RowValue) => RowValue;
  readonly all: (sql: string, values: readonly RowValue[]) => Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** Reads all rows of a table in the order of its key, some at a time. */
export async function* rowsByKey(name: CopiedTableName, reads: RowReads): AsyncGenerator<readonly CopiedRow[]> {
  const { table, columns, key } = COPIED_TABLES[name] as CopiedTable<object>;
  const keyIndexes = key.map((one) => columns.findIndex((column) => column.name === one));
  const keyNames = key.map((one) => `stored.${one}`).join(', ');
  const places = keyIndexes.map((index, place) => reads.placeOf(columns[index] as Column, place + 1)).join(', ');
  const selection = `SELECT ${columns.map(reads.selected).join(', ')} FROM ${reads.table(table)} AS stored`;
  let last: CopiedRow | undefined;
  do {
    const after = last;
    const rest = after === undefined ? '' : `WHERE (${keyNames}) > (${places})`;
    const found = await reads.all(
      `${selection} ${rest} ORDER BY ${keyNames} LIMIT ${ROWS_AT_ONCE}`,
      after === undefined ? [] : keyIndexes.map((index) => after[index] ?? null),
    );
    const rows = found.map((row) => columns.map((column) => reads.valueOf(column, row[column.name] as RowValue)));
    if (rows.length > 0) yield rows;
    last = rows.length < ROWS_AT_ONCE ? undefined : rows.at(-1);
  } while (last !== undefined);
}
