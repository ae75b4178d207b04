import { assert } from '../../core/assert.js';
import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import type { Account, AccountChange, AccountTotals, Entry, Hold } from '../../core/credits/account.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { AccountStore } from '../../core/ports/stores.js';
import { isUuid } from '../rows/row-mapping.js';
import { attributed, attributionOf, flat } from '../rows/tables.js';
import { ACCOUNTS, CAP_USES, ENTRIES, HOLDS, uuidOfHex } from './columns.js';
import type { Row, SqlValue } from './database.js';
import { type Connections, yieldBetweenPages } from './reader.js';
import { applied, created } from './writer.js';

/** An account, its holds and the use of its caps in one statement, so that all are of the same version. */
const ACCOUNT = `
  SELECT ${ACCOUNTS.selected},
    (SELECT json_group_array(json_array(hex(generation), credits, held_at, credential, model, trace, cap_period, app, actor)) FROM holds WHERE account = accounts.id) AS holds,
    (SELECT json_group_array(json_array(credential, period, used)) FROM cap_uses WHERE account = accounts.id) AS cap_uses
  FROM accounts`;
const ACCOUNT_BY_ID = `${ACCOUNT} WHERE id = unhex(?, '-')`;
const TOTALS_BY_ID = `${ACCOUNTS.selection} WHERE id = unhex(?, '-')`;
const ENTRY = `SELECT hex(account) AS account, ${ENTRIES.selected} FROM entries WHERE account = unhex(?, '-')`;

/** Accounts, their open holds and their ledgers in SQLite. */
export class SqliteAccountStore implements AccountStore {
  constructor(private readonly db: Connections) {}

  async create(account: Account): Promise<'created' | 'exists'> {
    assert(account.version === 0 && account.holds.size === 0, 'a new account has version 0 and no holds');
    return created(this.db.writer.run(ACCOUNTS.insertion, ...ACCOUNTS.valuesOf(account)));
  }

  read(accountId: string, call?: Cancellation): Promise<Account | null>;
  read(accountId: string, call: Cancellation | undefined, part: 'totals'): Promise<AccountTotals | null>;
  async read(accountId: string, call?: Cancellation, part?: 'totals'): Promise<Account | AccountTotals | null> {
    throwIfAborted(call);
    if (!isUuid(accountId)) return null;
    const row = this.db.reader.get(part === 'totals' ? TOTALS_BY_ID : ACCOUNT_BY_ID, accountId);
    if (row === undefined) return null;
    return part === 'totals' ? ACCOUNTS.recordOf(row) : accountOf(row);
  }

  async apply(change: AccountChange): Promise<'applied' | 'conflict'> {
    return applied(this.db.writer.write('changeAccount', ...changeValues(change)));
  }

  async entries(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Entry>> {
    await yieldBetweenPages(call);
    const sql = `${ENTRY} AND sequence > ? ORDER BY sequence LIMIT ?`;
    const rows = this.db.reader.all(sql, accountId, Number(page.cursor ?? 0), checkedLimit(page.limit) + 1);
    return pageOf(rows.map(entryOf), page, (entry) => String(entry.sequence));
  }

  async findOperation(accountId: string, operationId: string): Promise<Entry | null> {
    const row = this.db.reader.get(`${ENTRY} AND operation_id = ?`, accountId, operationId);
    return row === undefined ? null : entryOf(row);
  }

  async list(page: PageRequest, call?: Cancellation): Promise<Page<Account>> {
    await yieldBetweenPages(call);
    const sql = `${ACCOUNT} WHERE id > unhex(?, '-') ORDER BY id LIMIT ?`;
    const rows = this.db.reader.all(sql, page.cursor ?? '', checkedLimit(page.limit) + 1);
    return pageOf(rows.map(accountOf), page, (account) => account.accountId);
  }

  async holdsBefore(heldBefore: number, page: PageRequest): Promise<Page<Hold & { readonly accountId: string }>> {
    const [heldAt = '', accountId = '', generationId = ''] = page.cursor?.split('/') ?? [Number.MIN_SAFE_INTEGER];
    const sql = `SELECT hex(account) AS account, ${HOLDS.selected} FROM holds
      WHERE held_at < ?1 AND (held_at, account, generation) > (?2, unhex(?3, '-'), unhex(?4, '-'))
      ORDER BY held_at, account, generation LIMIT ?5`;
    const limit = checkedLimit(page.limit) + 1;
    const rows = this.db.reader.all(sql, heldBefore, Number(heldAt), accountId, generationId, limit);
    const found = rows.map((row) => ({ accountId: accountIdOf(row), ...attributed<Hold>(HOLDS.recordOf(row)) }));
    return pageOf(found, page, (hold) => `${hold.heldAt}/${hold.accountId}/${hold.generationId}`);
  }

  async removeTexts(accountId: string, entries: readonly Entry[]): Promise<void> {
    assert(entries.length <= 1_000, 'at most 1,000 entries lose their texts at once');
    const written = entries.map(({ sequence, attribution, operationId = null, reason = null }) =>
      this.db.writer.run(REMOVE_TEXTS, attribution?.clientTraceId ?? null, operationId, reason, accountId, sequence),
    );
    await Promise.all(written);
  }
}

/** Never writes a text: another process may have removed it meanwhile. */
const REMOVE_TEXTS = `UPDATE entries 
  SET trace = iif(? IS NULL, NULL, trace), operation_id = iif(? IS NULL, NULL, operation_id), reason = iif(? IS NULL, NULL, reason)
  WHERE account = unhex(?, '-') AND sequence = ?`;

/** The arguments of `changeAccount`. */
export function changeValues(change: AccountChange): SqlValue[] {
  assert(change.entries.length <= 1000, 'a change has at most 1,000 entries');
  const { accountId, expectedVersion, version, issued, available, reserved, spent, lastSequence } = change;
  const { holdsOpened, holdsClosed, entries, profile, capUses = [], capUsesDropped = [] } = change;
  const totals = [accountId, expectedVersion, version, issued, available, reserved, spent, lastSequence];
  const counts = [holdsClosed.length, holdsOpened.length, capUsesDropped.length, capUses.length];
  return [
    ...totals,
    profile?.name ?? null,
    profile?.suspendedAt ?? null,
    profile?.erasedAt ?? null,
    ...counts,
    ...holdsClosed,
    ...holdsOpened.flatMap((hold) => HOLDS.valuesOf(flat(hold))),
    ...capUsesDropped,
    ...capUses.flatMap((use) => CAP_USES.valuesOf(use)),
    ...entries.flatMap((entry) => ENTRIES.valuesOf(flat(entry))),
  ];
}

function accountOf(row: Row): Account {
  const holds = JSON.parse(row['holds'] as string) as [
    generation: string,
    credits: number,
    heldAt: number,
    credentialId: string | null,
    modelKey: string | null,
    clientTraceId: string | null,
    capPeriod: string | null,
    appId: string | null,
    actor: string | null,
  ][];
  const capUses = JSON.parse(row['cap_uses'] as string) as [credentialId: string, period: string, used: number][];
  return {
    ...ACCOUNTS.recordOf(row),
    ...(capUses.length === 0
      ? {}
      : {
          capUses: new Map(
            capUses.map(([credentialId, period, used]) => [credentialId, { credentialId, period, used }]),
          ),
        }),
    holds: new Map(
      holds.map(([generation, credits, heldAt, ...by]) => {
        const generationId = uuidOfHex(generation);
        return [generationId, { generationId, credits, heldAt, ...attributionOf(...by) }];
      }),
    ),
  };
}

function entryOf(row: Row): Entry {
  return { accountId: accountIdOf(row), ...attributed<Omit<Entry, 'accountId'>>(ENTRIES.recordOf(row)) };
}

function accountIdOf(row: Row): string {
  return uuidOfHex(row['account'] as string);
}
