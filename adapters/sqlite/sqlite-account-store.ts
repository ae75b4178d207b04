import { assert } from '../../core/assert.js';
import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import type {
  Account,
  AccountChange,
  AccountTotals,
  Attribution,
  Book,
  CapUse,
  Entry,
  EntryKind,
  Hold,
} from '../../core/credits/account.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { AccountStore } from '../../core/ports/stores.js';
import { isUuid, type Row, type SqlValue, uuidOfHex } from './database.js';
import { type Query, type SqliteReader, yieldBetweenPages } from './reader.js';
import type { SqliteWriter } from './writer.js';

const TOTALS =
  'hex(id) AS id, version, issued, available, reserved, spent, last_sequence, name, currency, created_at, suspended_at';
/** An account, its holds and the use of its caps in one statement, so that all are of the same version. */
const ACCOUNT = `
  SELECT ${TOTALS},
    (SELECT json_group_array(json_array(hex(generation), credits, held_at, credential, model, trace, cap_period)) FROM holds WHERE account = accounts.id) AS holds,
    (SELECT json_group_array(json_array(credential, period, used)) FROM cap_uses WHERE account = accounts.id) AS cap_uses
  FROM accounts`;
const ENTRY = `
  SELECT hex(account) AS account, sequence, kind, from_book, to_book, credits, at, available_after,
    hex(generation) AS generation, operation_id, reason, credential, model, trace, cap_period
  FROM entries`;

/** Accounts, their open holds and their ledgers in SQLite. */
export class SqliteAccountStore implements AccountStore {
  private readonly byId: Query;
  private readonly totalsById: Query;
  private readonly all: Query;
  private readonly ledger: Query;
  private readonly operation: Query;
  private readonly holds: Query;

  constructor(
    private readonly writer: Pick<SqliteWriter, 'write'>,
    reader: SqliteReader,
  ) {
    this.byId = reader.query(`${ACCOUNT} WHERE id = unhex(?, '-')`);
    this.totalsById = reader.query(`SELECT ${TOTALS} FROM accounts WHERE id = unhex(?, '-')`);
    this.all = reader.query(`${ACCOUNT} WHERE id > unhex(?, '-') ORDER BY id LIMIT ?`);
    this.ledger = reader.query(`${ENTRY} WHERE account = unhex(?, '-') AND sequence > ? ORDER BY sequence LIMIT ?`);
    this.operation = reader.query(`${ENTRY} WHERE account = unhex(?, '-') AND operation_id = ?`);
    this.holds = reader.query(`
      SELECT hex(account) AS account, hex(generation) AS generation, credits, held_at, credential, model, trace, cap_period FROM holds
      WHERE held_at < ?1 AND (held_at, account, generation) > (?2, unhex(?3, '-'), unhex(?4, '-'))
      ORDER BY held_at, account, generation LIMIT ?5`);
  }

  async create(account: Account): Promise<'created' | 'exists'> {
    assert(account.version === 0 && account.holds.size === 0, 'a new account has version 0 and no holds');
    const { accountId, version, issued, available, reserved, spent, lastSequence, name, currency, createdAt } = account;
    const created = await this.writer.write(
      'createAccount',
      accountId,
      version,
      issued,
      available,
      reserved,
      spent,
      lastSequence,
      name,
      currency,
      createdAt,
    );
    return created === 1 ? 'created' : 'exists';
  }

  read(accountId: string, call?: Cancellation): Promise<Account | null>;
  read(accountId: string, call: Cancellation | undefined, part: 'totals'): Promise<AccountTotals | null>;
  async read(accountId: string, call?: Cancellation, part?: 'totals'): Promise<Account | AccountTotals | null> {
    throwIfAborted(call);
    if (!isUuid(accountId)) return null;
    const row = (part === 'totals' ? this.totalsById : this.byId).get(accountId);
    if (row === undefined) return null;
    return part === 'totals' ? totalsOf(row) : accountOf(row);
  }

  async apply(change: AccountChange): Promise<'applied' | 'conflict'> {
    return (await this.writer.write('changeAccount', ...changeValues(change))) === 1 ? 'applied' : 'conflict';
  }

  async entries(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Entry>> {
    await yieldBetweenPages(call);
    const rows = this.ledger.all(accountId, Number(page.cursor ?? 0), checkedLimit(page.limit) + 1);
    return pageOf(rows.map(entryOf), page, (entry) => String(entry.sequence));
  }

  async findOperation(accountId: string, operationId: string): Promise<Entry | null> {
    const row = this.operation.get(accountId, operationId);
    return row === undefined ? null : entryOf(row);
  }

  async list(page: PageRequest, call?: Cancellation): Promise<Page<Account>> {
    await yieldBetweenPages(call);
    const rows = this.all.all(page.cursor ?? '', checkedLimit(page.limit) + 1);
    return pageOf(rows.map(accountOf), page, (account) => account.accountId);
  }

  async holdsBefore(heldBefore: number, page: PageRequest): Promise<Page<Hold & { readonly accountId: string }>> {
    const [heldAt = '', accountId = '', generationId = ''] = page.cursor?.split('/') ?? [Number.MIN_SAFE_INTEGER];
    const rows = this.holds.all(heldBefore, Number(heldAt), accountId, generationId, checkedLimit(page.limit) + 1);
    return pageOf(rows.map(holdOf), page, (hold) => `${hold.heldAt}/${hold.accountId}/${hold.generationId}`);
  }
}

/** The arguments of `changeAccount`. */
export function changeValues(change: AccountChange): SqlValue[] {
  assert(change.entries.length <= 1000, 'a change has at most 1,000 entries');
  const { accountId, expectedVersion, version, issued, available, reserved, spent, lastSequence } = change;
  const { holdsOpened, holdsClosed, entries, profile, capUses = [], capUsesDropped = [] } = change;
  return [
    accountId,
    expectedVersion,
    version,
    issued,
    available,
    reserved,
    spent,
    lastSequence,
    profile?.name ?? null,
    profile?.suspendedAt ?? null,
    holdsClosed.length,
    holdsOpened.length,
    capUsesDropped.length,
    capUses.length,
    ...holdsClosed,
    ...holdsOpened.flatMap(holdValues),
    ...capUsesDropped,
    ...capUses.flatMap(capUseValues),
    ...entries.flatMap(entryValues),
  ];
}

function accountOf(row: Row): Account {
  const holds = JSON.parse(row['holds'] as string) as [
    generation: string,
    credits: number,
    heldAt: number,
    credential: string | null,
    model: string | null,
    trace: string | null,
    capPeriod: string | null,
  ][];
  const capUses = JSON.parse(row['cap_uses'] as string) as [credential: string, period: string, used: number][];
  return {
    ...totalsOf(row),
    ...(capUses.length === 0 ? {} : { capUses: new Map(capUses.map((use) => [use[0], capUseOf(...use)])) }),
    holds: new Map(
      holds.map(([generation, credits, heldAt, ...by]) => {
        const generationId = uuidOfHex(generation);
        return [generationId, { generationId, credits, heldAt, ...attributionOf(...by) }];
      }),
    ),
  };
}

function capUseOf(credentialId: string, period: string, used: number): CapUse {
  return { credentialId, period, used };
}

function capUseValues({ credentialId, period, used }: CapUse): SqlValue[] {
  return [credentialId, period, used];
}

function totalsOf(row: Row): AccountTotals {
  return {
    accountId: uuidOfHex(row['id'] as string),
    name: row['name'] as string,
    currency: row['currency'] as string,
    createdAt: row['created_at'] as number,
    ...(row['suspended_at'] === null ? {} : { suspendedAt: row['suspended_at'] as number }),
    version: row['version'] as number,
    issued: row['issued'] as number,
    available: row['available'] as number,
    reserved: row['reserved'] as number,
    spent: row['spent'] as number,
    lastSequence: row['last_sequence'] as number,
  };
}

function holdOf(row: Row): Hold & { readonly accountId: string } {
  return {
    accountId: uuidOfHex(row['account'] as string),
    generationId: uuidOfHex(row['generation'] as string),
    credits: row['credits'] as number,
    heldAt: row['held_at'] as number,
    ...attributionIn(row),
  };
}

/** In the order in which `changeAccount` takes them. */
function holdValues({ generationId, credits, heldAt, attribution }: Hold): SqlValue[] {
  return [generationId, credits, heldAt, ...attributionValues(attribution)];
}

function attributionValues(attribution: Attribution | undefined): SqlValue[] {
  const { credentialId = null, modelKey = null, clientTraceId = null, capPeriod = null } = attribution ?? {};
  return [credentialId, modelKey, clientTraceId, capPeriod];
}

function attributionIn(row: Row): { readonly attribution?: Attribution } {
  return attributionOf(
    row['credential'] as string | null,
    row['model'] as string | null,
    row['trace'] as string | null,
    row['cap_period'] as string | null,
  );
}

function attributionOf(
  credentialId: string | null,
  modelKey: string | null,
  trace: string | null,
  capPeriod: string | null,
): { readonly attribution?: Attribution } {
  if (credentialId === null || modelKey === null) return {};
  return {
    attribution: {
      credentialId,
      modelKey,
      ...(trace === null ? {} : { clientTraceId: trace }),
      ...(capPeriod === null ? {} : { capPeriod }),
    },
  };
}

/** In the order in which `changeAccount` takes them. */
function entryValues(entry: Entry): SqlValue[] {
  const {
    sequence,
    kind,
    from,
    to,
    credits,
    at,
    availableAfter,
    generationId = null,
    operationId = null,
    reason = null,
    attribution,
  } = entry;
  return [
    sequence,
    kind,
    from,
    to,
    credits,
    at,
    availableAfter,
    generationId,
    operationId,
    reason,
    ...attributionValues(attribution),
  ];
}

function entryOf(row: Row): Entry {
  return {
    accountId: uuidOfHex(row['account'] as string),
    sequence: row['sequence'] as number,
    kind: row['kind'] as EntryKind,
    from: row['from_book'] as Book,
    to: row['to_book'] as Book,
    credits: row['credits'] as number,
    at: row['at'] as number,
    availableAfter: row['available_after'] as number,
    ...(row['generation'] === null || row['generation'] === ''
      ? {}
      : { generationId: uuidOfHex(row['generation'] as string) }),
    ...attributionIn(row),
    ...(row['operation_id'] === null ? {} : { operationId: row['operation_id'] as string }),
    ...(row['reason'] === null ? {} : { reason: row['reason'] as string }),
  };
}
