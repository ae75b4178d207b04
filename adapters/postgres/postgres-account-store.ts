import { assert } from '../../core/assert.js';
import type { Cancellation } from '../../core/cancellation.js';
import type { Account, AccountChange, AccountTotals, Entry, Hold } from '../../core/credits/account.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { AccountStore } from '../../core/ports/stores.js';
import { isUuid } from '../rows/row-mapping.js';
import { attributed } from '../rows/tables.js';
import type { AccountChanges } from './account-changes.js';
import { ACCOUNTS, CAP_USES, ENTRIES, HOLDS, idOrNull } from './columns.js';
import type { PostgresDatabase, Row } from './connection.js';
import { LEAST_ID } from './postgres-records.js';

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
  constructor(
    private readonly db: PostgresDatabase,
    private readonly changes: AccountChanges,
  ) {}

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
    const { isChanged } = await this.changes.write({ claims: [], change, generations: [] });
    return isChanged ? 'applied' : 'conflict';
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
