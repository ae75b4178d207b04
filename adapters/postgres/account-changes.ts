import { assert } from '../../core/assert.js';
import type { AccountChange, Hold } from '../../core/credits/account.js';
import type { Generation } from '../../core/generation/generation.js';
import type { Claim } from '../../core/idempotency/claim.js';
import { isUuid } from '../rows/row-mapping.js';
import { claimKeyDigest, flat } from '../rows/tables.js';
import { arraysOf, CAP_USES, CLAIMS, type Columns, ENTRIES, HOLDS, type TypedColumns, unnest } from './columns.js';
import type { PostgresDatabase, SqlValue } from './connection.js';
import { GroupedWrites } from './grouped-writes.js';
import { generationArrays, insertGenerations, PLACES_OF_GENERATION } from './postgres-generation-store.js';

/** A change of an account, with the claims that are stored before it and the generations after it. */
export interface AccountWrite {
  readonly claims: readonly Claim[];
  readonly change: AccountChange;
  readonly generations: readonly Generation[];
}

export interface AccountWritten {
  /** Whether the account had the expected version, and all keys were free. */
  readonly isChanged: boolean;
  /** Among those of its group: the digests of the keys that were free, and the ids of generations that were free. */
  readonly claimed: ReadonlySet<string>;
  readonly inserted: ReadonlySet<string>;
}

/** The columns of a change that its account's row gets. */
const TOTALS = ['version', 'issued', 'available', 'reserved', 'spent', 'last_sequence'] as const;
const PROFILE = [
  ['name', 'text'],
  ['suspended_at', 'int8'],
  ['erased_at', 'int8'],
] as const;
const GIVEN = [
  ['account', 'uuid'],
  ['expected', 'int8'],
  ['claims', 'int8'],
  ...TOTALS.map((name) => [name, 'int8'] as const),
  ['is_profiled', 'bool'],
  ...PROFILE,
] as const;
const OF_ACCOUNT = ['account', 'uuid'] as const;

/**
 * Changes accounts of PostgreSQL, those of different accounts by one statement. Each change is done only if all of its claims
 * are stored and its account has the expected version, whatever becomes of the others.
 */
export class AccountChanges {
  private readonly writes: GroupedWrites<AccountWrite, AccountWritten>;

  constructor(private readonly db: PostgresDatabase) {
    this.writes = new GroupedWrites({
      keyOf: ({ change }) => change.accountId,
      weightOf: ({ change, generations }) =>
        Math.max(change.entries.length, change.holdsClosed.length, generations.length),
      bounded: (operation) => db.bounded(operation),
      write: (writes) => this.writeAll(writes),
    });
  }

  async write(one: AccountWrite): Promise<AccountWritten> {
    assert(one.change.entries.length <= 1_000, 'a change has at most 1,000 entries');
    if (isUuid(one.change.accountId)) return this.writes.apply(one);
    return { isChanged: false, claimed: new Set(), inserted: new Set() };
  }

  private async writeAll(writes: readonly AccountWrite[]): Promise<readonly AccountWritten[]> {
    const { sql, values } = statementOf(writes);
    const { rows } = await this.db.ask(sql, values);
    const [row] = rows as unknown as readonly Readonly<Record<'changed' | 'claimed' | 'inserted', readonly string[]>>[];
    const [changed, claimed, inserted] = [new Set(row?.changed), new Set(row?.claimed), new Set(row?.inserted)];
    return writes.map(({ change }) => ({ isChanged: changed.has(change.accountId), claimed, inserted }));
  }
}

/** The rows of one part of a statement, each with its account. */
type Rows = readonly (readonly (string | number | boolean | null)[])[];

/**
 * The statement of these changes. Parts that none of them has are left out: a few texts are in use, each prepared once, and an
 * empty part costs as much as a full one. Claims are inserted first, in the order of their index, then accounts are locked in the
 * order of theirs, so that no two statements deadlock.
 *
 * The parts of a statement see the same state and have no order, so no row may be in two of them: a hold that is closed and
 * opened again is replaced, and so is the use of a cap that is dropped and set.
 */
function statementOf(writes: readonly AccountWrite[]): { readonly sql: string; readonly values: readonly SqlValue[] } {
  const values: SqlValue[] = [];
  const unnested = (columns: TypedColumns, rows: Rows, alias: string): string => {
    values.push(...arraysOf(columns, rows));
    return unnest(columns, values.length - columns.length + 1, alias);
  };
  const isProfiled = writes.some(({ change }) => change.profile !== undefined);
  const given = unnested(isProfiled ? GIVEN : GIVEN.slice(0, -PROFILE.length - 1), writes.map(givenOf), 'given');
  const claims: Rows = writes.flatMap(({ change, claims: some }) =>
    some.map((claim) => [change.accountId, claimKeyDigest(claim), ...CLAIMS.valuesOf(claim)]),
  );
  const parts: string[] = [];
  if (claims.length > 0)
    parts.push(
      `asked AS MATERIALIZED (SELECT * FROM ${unnested([OF_ACCOUNT, ['key_digest', 'text'], ...CLAIMS.typed], claims, 'one')})`,
      `claimed AS (INSERT INTO darkroom.claims (key_digest, ${CLAIMS.names})
        SELECT decode(key_digest, 'hex'), ${CLAIMS.names} FROM asked ORDER BY 1
        ON CONFLICT DO NOTHING RETURNING encode(key_digest, 'hex') AS key_digest)`,
      `counted AS (SELECT account, count(*) AS claims FROM asked JOIN claimed USING (key_digest) GROUP BY account)`,
    );
  parts.push(
    `ready AS MATERIALIZED (SELECT given.* FROM ${given} ${
      claims.length > 0
        ? 'LEFT JOIN counted ON counted.account = given.account WHERE given.claims = coalesce(counted.claims, 0)'
        : ''
    })`,
    `locked AS MATERIALIZED (SELECT ready.* FROM ready JOIN darkroom.accounts AS stored
      ON stored.id = ready.account AND stored.version = ready.expected ORDER BY stored.id FOR UPDATE OF stored)`,
    `changed AS (UPDATE darkroom.accounts AS stored SET ${TOTALS.map((name) => `${name} = locked.${name}`).join(', ')}
      ${isProfiled ? PROFILE.map(([name]) => `, ${name} = CASE WHEN locked.is_profiled THEN locked.${name} ELSE stored.${name} END`).join('') : ''}
      FROM locked WHERE stored.id = locked.account AND stored.version = locked.expected RETURNING stored.id)`,
  );
  const inserting = <R extends object>(
    name: string,
    columns: Columns<R>,
    recordsOf: (change: AccountChange) => readonly R[],
    more = '',
  ) => {
    const rows = writes.flatMap(({ change }) =>
      recordsOf(change).map((record) => [change.accountId, ...columns.valuesOf(record)]),
    );
    if (rows.length === 0) return;
    parts.push(`${name} AS (INSERT INTO ${columns.qualified} (account, ${columns.names})
      SELECT given.account, ${columns.of('given')} FROM changed, ${unnested([OF_ACCOUNT, ...columns.typed], rows, 'given')}
      WHERE given.account = changed.id ${more})`);
  };
  const deleting = (
    name: string,
    table: string,
    column: TypedColumns[number],
    idsOf: (change: AccountChange) => readonly string[],
  ) => {
    const rows = writes.flatMap(({ change }) => idsOf(change).map((id) => [change.accountId, id]));
    if (rows.length === 0) return;
    parts.push(`${name} AS (DELETE FROM darkroom.${table} AS stored USING changed, ${unnested([OF_ACCOUNT, column], rows, 'given')}
      WHERE given.account = changed.id AND stored.account = given.account AND stored.${column[0]} = given.${column[0]})`);
  };
  deleting('closed', 'holds', ['generation', 'uuid'], (change) => onlyClosed(change));
  inserting('opened', HOLDS, (change) => openedOf(change, false).map(flat));
  inserting('reopened', HOLDS, (change) => openedOf(change, true).map(flat), REPLACE_HOLD);
  deleting('dropped', 'cap_uses', ['credential', 'text'], onlyDropped);
  inserting('used', CAP_USES, ({ capUses = [] }) => capUses, REPLACE_USE);
  inserting('entered', ENTRIES, ({ entries }) => entries.map(flat));
  const generations = writes.flatMap((write) => write.generations);
  if (generations.length > 0) {
    values.push(...generationArrays(generations));
    parts.push(`inserted AS (${insertGenerations(values.length - PLACES_OF_GENERATION + 1, 'changed')})`);
  }
  const sql = `WITH ${parts.join(', ')} SELECT ARRAY(SELECT id::text FROM changed) AS changed,
    ${claims.length > 0 ? 'ARRAY(SELECT key_digest FROM claimed)' : 'ARRAY[]::text[]'} AS claimed,
    ${generations.length > 0 ? 'ARRAY(SELECT id::text FROM inserted)' : 'ARRAY[]::text[]'} AS inserted`;
  return { sql, values };
}

function givenOf({ change, claims }: AccountWrite): Rows[number] {
  const { accountId, expectedVersion, version, issued, available, reserved, spent, lastSequence, profile } = change;
  const totals = [accountId, expectedVersion, claims.length, version, issued, available, reserved, spent, lastSequence];
  return [
    ...totals,
    profile !== undefined,
    profile?.name ?? null,
    profile?.suspendedAt ?? null,
    profile?.erasedAt ?? null,
  ];
}

function onlyClosed({ holdsClosed, holdsOpened }: AccountChange): readonly string[] {
  return holdsClosed.filter((id) => isUuid(id) && !holdsOpened.some(({ generationId }) => generationId === id));
}

/** Those that are closed and opened again, or the others. */
function openedOf({ holdsClosed, holdsOpened }: AccountChange, isAgain: boolean): readonly Hold[] {
  const closed = new Set(holdsClosed);
  return holdsOpened.filter(({ generationId }) => closed.has(generationId) === isAgain);
}

function onlyDropped({ capUsesDropped = [], capUses = [] }: AccountChange): readonly string[] {
  return capUsesDropped.filter((id) => !capUses.some(({ credentialId }) => credentialId === id));
}

const REPLACE_HOLD = `ON CONFLICT (account, generation) DO UPDATE SET ${replaced(HOLDS)}`;
const REPLACE_USE = `ON CONFLICT (account, credential) DO UPDATE SET ${replaced(CAP_USES)}`;

function replaced({ columns }: Pick<typeof CAP_USES, 'columns'>): string {
  return columns
    .slice(1)
    .map(({ name }) => `${name} = excluded.${name}`)
    .join(', ');
}
