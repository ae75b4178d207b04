import { assert } from '../../core/assert.js';
import type { Cancellation } from '../../core/cancellation.js';
import type { Account, AccountChange, AccountTotals, Entry, Hold } from '../../core/credits/account.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { AccountStore } from '../../core/ports/stores.js';
import { isUuid } from '../rows/row-mapping.js';
import { attributed, flat } from '../rows/tables.js';
import { ACCOUNTS, CAP_USES, type Columns, ENTRIES, HOLDS, idOrNull } from './columns.js';
import type { PostgresDatabase, Row, SqlValue } from './connection.js';
import { LEAST_ID, outcomeOf } from './postgres-records.js';

/** An account, its holds and the use of its caps in one statement, so that all are of the same version. */
const ACCOUNT = `
  SELECT ${ACCOUNTS.names},
    (SELECT coalesce(json_agg(holds), '[]') FROM (SELECT ${HOLDS.names} FROM darkroom.holds WHERE account = accounts.id) AS holds) AS holds,
    (SELECT coalesce(json_agg(uses), '[]') FROM (SELECT ${CAP_USES.names} FROM darkroom.cap_uses WHERE account = accounts.id) AS uses) AS cap_uses
  FROM darkroom.accounts AS accounts`;
const ENTRY = `SELECT account, ${ENTRIES.names} FROM darkroom.entries WHERE account = $1`;
const HOLDS_BEFORE = `SELECT account, ${HOLDS.names} FROM darkroom.holds
  WHERE held_at < $1 AND (held_at, account, generation) > ($2, $3, $4) ORDER BY held_at, account, generation LIMIT $5`;
/** Never writes a text: another process may have removed it meanwhile. */
const REMOVE_TEXTS = `UPDATE darkroom.entries AS entry SET
    trace = CASE WHEN kept.trace THEN entry.trace END,
    operation_id = CASE WHEN kept.operation THEN entry.operation_id END,
    reason = CASE WHEN kept.reason THEN entry.reason END
  FROM unnest($2::int8[], $3::bool[], $4::bool[], $5::bool[]) AS kept (sequence, trace, operation, reason)
  WHERE entry.account = $1 AND entry.sequence = kept.sequence`;

/** Accounts, their open holds and their ledgers in PostgreSQL. */
export class PostgresAccountStore implements AccountStore {
  constructor(private readonly db: PostgresDatabase) {}

  async create(account: Account): Promise<'created' | 'exists'> {
    assert(account.version === 0 && account.holds.size === 0, 'a new account has version 0 and no holds');
    const { rowCount } = await this.db.ask(ACCOUNTS.insertion, ACCOUNTS.valuesOf(account));
    return rowCount === 1 ? 'created' : 'exists';
  }

  read(accountId: string, call?: Cancellation): Promise<Account | null>;
  read(accountId: string, call: Cancellation | undefined, part: 'totals'): Promise<AccountTotals | null>;
  async read(accountId: string, call?: Cancellation, part?: 'totals'): Promise<Account | AccountTotals | null> {
    if (!isUuid(accountId)) return null;
    const selection = part === 'totals' ? ACCOUNTS.selection : ACCOUNT;
    const { rows } = await this.db.ask(`${selection} WHERE id = $1`, [accountId], call);
    const [row] = rows;
    if (row === undefined) return null;
    return part === 'totals' ? ACCOUNTS.recordOf(row) : accountOf(row);
  }

  async apply(change: AccountChange): Promise<'applied' | 'conflict'> {
    const { parts, values } = changeStatement(change, []);
    const { rowCount } = await this.db.ask(`WITH ${parts.join(', ')} SELECT FROM changed`, values);
    return outcomeOf(rowCount);
  }

  async entries(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Entry>> {
    const { rows } = await this.db.ask(
      `${ENTRY} AND sequence > $2 ORDER BY sequence LIMIT $3`,
      [idOrNull(accountId), sequenceOf(page.cursor), checkedLimit(page.limit) + 1],
      call,
    );
    return pageOf(rows.map(entryOf), page, (entry) => String(entry.sequence));
  }

  async findOperation(accountId: string, operationId: string): Promise<Entry | null> {
    const { rows } = await this.db.ask(`${ENTRY} AND operation_id = $2`, [idOrNull(accountId), operationId]);
    return rows[0] === undefined ? null : entryOf(rows[0]);
  }

  async list(page: PageRequest, call?: Cancellation): Promise<Page<Account>> {
    const { rows } = await this.db.ask(
      `${ACCOUNT} WHERE id > $1 ORDER BY id LIMIT $2`,
      [idOrNull(page.cursor ?? LEAST_ID), checkedLimit(page.limit) + 1],
      call,
    );
    return pageOf(rows.map(accountOf), page, (account) => account.accountId);
  }

  async holdsBefore(heldBefore: number, page: PageRequest): Promise<Page<Hold & { readonly accountId: string }>> {
    const [heldAt, accountId = LEAST_ID, generationId = LEAST_ID] = page.cursor?.split('/') ?? [];
    const place = [Number(heldAt ?? Number.MIN_SAFE_INTEGER), idOrNull(accountId), idOrNull(generationId)];
    const { rows } = await this.db.ask(HOLDS_BEFORE, [heldBefore, ...place, checkedLimit(page.limit) + 1]);
    const found = rows.map((row) => ({ accountId: row['account'] as string, ...holdOf(row) }));
    return pageOf(found, page, (hold) => `${hold.heldAt}/${hold.accountId}/${hold.generationId}`);
  }

  async removeTexts(accountId: string, entries: readonly Entry[]): Promise<void> {
    assert(entries.length <= 1_000, 'at most 1,000 entries lose their texts at once');
    await this.db.ask(REMOVE_TEXTS, [
      idOrNull(accountId),
      entries.map(({ sequence }) => sequence),
      entries.map(({ attribution }) => attribution?.clientTraceId !== undefined),
      entries.map(({ operationId }) => operationId !== undefined),
      entries.map(({ reason }) => reason !== undefined),
    ]);
  }
}

/** The number of an entry in a cursor. One that no list has given out may be any text, and then has nothing behind it. */
function sequenceOf(cursor = '0'): number {
  const sequence = Math.floor(Number(cursor));
  return Number.isSafeInteger(sequence) ? sequence : Number.MAX_SAFE_INTEGER;
}

/** Parts of a statement that are common table expressions, and the values of all its places. */
export interface StatementParts {
  readonly parts: readonly string[];
  readonly values: readonly SqlValue[];
}

/**
 * The change of an account as parts of a statement: `changed` has a row if the account had the expected version and `condition`
 * holds, and the other parts write only then. Places are numbered after `before`. Parts that a change lacks are left out: there
 * are a few texts in use, each prepared once, and an empty part costs as much as a full one.
 *
 * The parts of a statement see the same state and have no order, so no row may be in two of them: a hold that is closed and
 * opened again is replaced, and so is the use of a cap that is dropped and set.
 */
export function changeStatement(change: AccountChange, before: readonly SqlValue[], condition = ''): StatementParts {
  assert(change.entries.length <= 1_000, 'a change has at most 1,000 entries');
  const { accountId, expectedVersion, version, issued, available, reserved, spent, lastSequence, profile } = change;
  const values: SqlValue[] = [...before];
  const placed = (...added: readonly SqlValue[]): number => values.push(...added) - added.length + 1;

  const at = placed(idOrNull(accountId), expectedVersion, version, issued, available, reserved, spent, lastSequence);
  let assigned = `version = $${at + 2}, issued = $${at + 3}, available = $${at + 4}, reserved = $${at + 5}, spent = $${at + 6},
    last_sequence = $${at + 7}`;
  if (profile !== undefined) {
    const from = placed(profile.name, profile.suspendedAt ?? null, profile.erasedAt ?? null);
    assigned += `, name = $${from}, suspended_at = $${from + 1}, erased_at = $${from + 2}`;
  }
  const parts = [
    `changed AS (UPDATE darkroom.accounts SET ${assigned} WHERE id = $${at} AND version = $${at + 1} ${condition} RETURNING id)`,
  ];

  const opened = new Set(change.holdsOpened.map(({ generationId }) => generationId));
  const closed = new Set(change.holdsClosed);
  const onlyClosed = [...closed].filter((id) => !opened.has(id) && isUuid(id));
  if (onlyClosed.length > 0)
    parts.push(`closed AS (DELETE FROM darkroom.holds AS hold USING changed
      WHERE hold.account = changed.id AND hold.generation = ANY ($${placed(onlyClosed)}::uuid[]))`);
  const inserting = <R extends object>(name: string, columns: Columns<R>, records: readonly R[], more = '') => {
    if (records.length === 0) return;
    const from = placed(...columns.arraysOf(records));
    parts.push(`${name} AS (INSERT INTO ${columns.qualified} (account, ${columns.names})
      SELECT changed.id, ${columns.of('given')} FROM changed, ${columns.unnested(from, 'given')} ${more})`);
  };
  const isAgain = ({ generationId }: Hold) => closed.has(generationId);
  inserting('opened', HOLDS, change.holdsOpened.filter((hold) => !isAgain(hold)).map(flat));
  inserting('reopened', HOLDS, change.holdsOpened.filter(isAgain).map(flat), REPLACE_HOLD);
  const used = change.capUses ?? [];
  const dropped = (change.capUsesDropped ?? []).filter((id) => !used.some(({ credentialId }) => credentialId === id));
  if (dropped.length > 0)
    parts.push(`dropped AS (DELETE FROM darkroom.cap_uses AS used USING changed
      WHERE used.account = changed.id AND used.credential = ANY ($${placed(dropped)}::text[]))`);
  inserting('used', CAP_USES, used, REPLACE_USE);
  inserting('entered', ENTRIES, change.entries.map(flat));
  return { parts, values };
}

const REPLACE_HOLD = `ON CONFLICT (account, generation) DO UPDATE SET ${replaced(HOLDS)}`;
const REPLACE_USE = `ON CONFLICT (account, credential) DO UPDATE SET ${replaced(CAP_USES)}`;

function replaced({ columns }: Pick<typeof CAP_USES, 'columns'>): string {
  return columns
    .slice(1)
    .map(({ name }) => `${name} = excluded.${name}`)
    .join(', ');
}

function accountOf(row: Row): Account {
  const holds = (row['holds'] as readonly Row[]).map(holdOf);
  const capUses = (row['cap_uses'] as readonly Row[]).map(CAP_USES.recordOf);
  return {
    ...ACCOUNTS.recordOf(row),
    ...(capUses.length === 0 ? {} : { capUses: new Map(capUses.map((use) => [use.credentialId, use])) }),
    holds: new Map(holds.map((hold) => [hold.generationId, hold])),
  };
}

function holdOf(row: Row): Hold {
  return attributed<Hold>(HOLDS.recordOf(row));
}

function entryOf(row: Row): Entry {
  return { accountId: row['account'] as string, ...attributed<Omit<Entry, 'accountId'>>(ENTRIES.recordOf(row)) };
}
