import type { Document, Filter, UUID } from 'mongodb';
import { isDeepStrictEqual } from 'node:util';
import { assert } from '../../core/assert.js';
import type { Cancellation } from '../../core/cancellation.js';
import type { Account, AccountChange, AccountProfile, AccountTotals, Entry, Hold } from '../../core/credits/account.js';
import type { Log } from '../../core/log.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { AccountStore } from '../../core/ports/stores.js';
import {
  type AccountDocument,
  accountOf,
  booksDocument,
  capUseDocument,
  holdDocument,
  type HoldDocument,
  holdOf,
  outboxEntry,
  totalsOf,
} from './account-documents.js';
import { type MongoConnection, type OrderedWrite } from './connection.js';
import { Documents, ownUuid, textOf, uuidOf } from './documents.js';
import { LedgerFlushes, type LedgerForm, MongoLedger } from './mongo-ledger.js';
import { BY_ID } from './schema.js';

/** How many of them are remembered. */
const MAX_EXISTING = 100_000;

const SILENT: Log = { info: () => undefined, warn: () => undefined };

/** Accounts, their open holds and their ledgers in MongoDB: one document an account, and the entries that left it. */
export class MongoAccountStore implements AccountStore {
  private readonly accounts: Documents<AccountDocument>;
  private readonly ledger: MongoLedger;
  private readonly flushes: LedgerFlushes;
  private readonly oldHolds: OldHolds;
  /** Accounts that this process has read. */
  private readonly existing = new Set<string>();

  constructor(
    connection: MongoConnection,
    { log = SILENT, form }: { readonly log?: Log | undefined; readonly form: LedgerForm },
  ) {
    this.accounts = new Documents(connection, 'accounts');
    this.ledger = new MongoLedger(connection, form);
    this.flushes = new LedgerFlushes(this.ledger, log);
    this.oldHolds = new OldHolds(this.accounts);
  }

  async create(account: Account): Promise<'created' | 'exists'> {
    assert(account.version === 0 && account.holds.size === 0, 'a new account has version 0 and no holds');
    const { accountId, name, currency, createdAt, version, lastSequence } = account;
    const document = {
      _id: ownUuid(accountId),
      name,
      currency,
      createdAt,
      version,
      lastSequence,
      holds: [],
      outbox: [],
    };
    return (await this.accounts.insert({ ...document, ...booksDocument(account) })) ? 'created' : 'exists';
  }

  read(accountId: string, call?: Cancellation): Promise<Account | null>;
  read(accountId: string, call: Cancellation | undefined, part: 'totals'): Promise<AccountTotals | null>;
  async read(accountId: string, call?: Cancellation, part?: 'totals'): Promise<Account | AccountTotals | null> {
    const _id = uuidOf(accountId);
    if (_id === null) return null;
    const projection = part === 'totals' ? { outbox: 0, holds: 0, capUses: 0 } : { outbox: 0 };
    const found = await this.accounts.first({ _id }, { projection }, call);
    if (found === null) return null;
    if (this.existing.size >= MAX_EXISTING) this.existing.clear();
    this.existing.add(accountId);
    return part === 'totals' ? totalsOf(found) : accountOf(found);
  }

  async apply(change: AccountChange): Promise<'applied' | 'conflict'> {
    assertEntries(change.entries);
    const account = uuidOf(change.accountId);
    if (account === null || !(await this.hasNewOperations(account, change))) return 'conflict';
    if (await this.write(account, change)) return 'applied';
    if (!(await this.isCurrent(change))) return 'conflict';
    // The version is right, so the outbox was full: no process can have added to it since without changing the version.
    await this.flushes.flush(change.accountId);
    if (await this.write(account, change)) return 'applied';
    assert(!(await this.isCurrent(change)), 'a change follows on from its account, and opens no hold that is open');
    return 'conflict';
  }

  /**
   * The change as one of several writes of a command; undefined where more must be looked up for it first. Only for an
   * account that is known to exist, which it then does for good: a write that finds none is not an error, and would not stop
   * the others.
   */
  guardedWrite(change: AccountChange): OrderedWrite | undefined {
    assertEntries(change.entries);
    const account = uuidOf(change.accountId);
    if (account === null || !this.existing.has(change.accountId)) return undefined;
    if (change.entries.some(({ operationId }) => operationId !== undefined)) return undefined;
    const { namespace } = this.accounts.collection;
    return { namespace, name: 'updateOne', filter: { _id: account }, update: guardedUpdate(change), hint: BY_ID };
  }

  /** Whether the account is at the version that the change is based on. */
  private async isCurrent({ accountId, expectedVersion }: AccountChange): Promise<boolean> {
    const found = await this.accounts.first({ _id: ownUuid(accountId) }, { projection: { version: 1 } });
    return found?.version === expectedVersion;
  }

  /**
   * The reason why a guarded write of a change with entries was refused: the account is at the version that the
   * change is based on, but its outbox is full; the same write was already applied, because the driver repeated it
   * after its response was lost; or the account has passed that version.
   */
  async refusalOf(change: AccountChange): Promise<'current' | 'applied' | 'passed'> {
    const { accountId, expectedVersion, entries, lastSequence } = change;
    const head = await this.ledger.head(ownUuid(accountId));
    if (head?.version === expectedVersion) return 'current';
    const first = entries[0]?.sequence;
    if (head === null || first === undefined || head.lastSequence < lastSequence) return 'passed';
    // Another process may have moved the entries out of the account since.
    const stored = await this.ledger.range(head, first - 1, lastSequence);
    return isDeepStrictEqual(stored, entries) ? 'applied' : 'passed';
  }

  /** Says that such a change was applied. */
  written({ accountId, entries }: AccountChange): void {
    if (entries.length > 0) this.flushes.added(accountId, entries.length);
  }

  async entries(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Entry>> {
    const [account, from, limit] = [uuidOf(accountId), Number(page.cursor ?? 0), checkedLimit(page.limit)];
    const head = account === null ? null : await this.ledger.head(account, call);
    if (head === null || !Number.isSafeInteger(from) || from >= head.lastSequence) return { items: [] };
    const found = await this.ledger.range(head, from, Math.min(head.lastSequence, from + limit + 1), call);
    return pageOf(found, page, (entry) => String(entry.sequence));
  }

  async findOperation(accountId: string, operationId: string): Promise<Entry | null> {
    const account = uuidOf(accountId);
    const head = account === null ? null : await this.ledger.head(account);
    return head === null ? null : this.ledger.operation(head, operationId);
  }

  async list(page: PageRequest, call?: Cancellation): Promise<Page<Account>> {
    const limit = checkedLimit(page.limit) + 1;
    const after = page.cursor === undefined ? undefined : uuidOf(page.cursor);
    if (after === null) return { items: [] };
    const stages = [
      { $match: after === undefined ? {} : { _id: { $gt: after } } },
      { $sort: { _id: 1 } },
      { $limit: limit },
      { $project: { outbox: 0 } },
    ];
    const found = await this.accounts.aggregate(stages, BY_ID, call);
    return pageOf(found.map(accountOf), page, (account) => account.accountId);
  }

  async holdsBefore(heldBefore: number, page: PageRequest): Promise<Page<AccountHold>> {
    return pageOf(await this.oldHolds.find(heldBefore, page.cursor, checkedLimit(page.limit) + 1), page, cursorOf);
  }

  removeTexts(accountId: string, entries: readonly Entry[]): Promise<void> {
    assert(entries.length <= 1_000, 'at most 1,000 entries lose their texts at once');
    return this.ledger.removeTexts(accountId, entries);
  }

  /**
   * Moves the entries of accounts that have kept one since before a time, up to `limit` accounts, and returns how many.
   * Throws `StoreUnavailable`.
   */
  moveOldEntries(before: number, limit: number): Promise<number> {
    return this.flushes.flushOld(before, limit);
  }

  /** Waits for entries that are on their way out of their accounts. */
  close(): Promise<void> {
    return this.flushes.close();
  }

  private async write(account: UUID, change: AccountChange): Promise<boolean> {
    const outcome = await this.accounts.update(changeFilter(account, change), changeUpdate(change));
    if (outcome === 'applied') this.written(change);
    return outcome === 'applied';
  }

  /**
   * Whether the change may be tried: its account still is at its version, and no operation of it is in the ledger.
   * Sound although the write comes later, because every entry raises the version. Checked only for operators' commands.
   */
  private async hasNewOperations(account: UUID, { expectedVersion, entries }: AccountChange): Promise<boolean> {
    const operationIds = entries.flatMap(({ operationId }) => operationId ?? []);
    if (operationIds.length === 0) return true;
    const head = await this.ledger.head(account);
    if (head?.version !== expectedVersion) return false;
    for (const operationId of operationIds)
      assert((await this.ledger.operation(head, operationId)) === null, 'an operation id is used once');
    return true;
  }
}

function assertEntries(entries: readonly Entry[]): void {
  assert(entries.length <= 1000, 'a change has at most 1,000 entries');
  const operationIds = entries.flatMap(({ operationId }) => operationId ?? []);
  assert(new Set(operationIds).size === operationIds.length, 'an operation id is used once');
  const [first] = entries;
  assert(
    entries.every(({ sequence }, index) => sequence === (first?.sequence ?? 0) + index),
    'entries are numbered without gaps',
  );
}

/**
 * How many entries may wait in an account's document. An entry takes some 300 bytes and an operator's reason, so that
 * even with a thousand open holds the document stays far below the 16 MB a server takes.
 */
export const MAX_OUTBOX = 2_000;

/**
 * The condition of a change: the account has exactly the version that the change was decided on, so that a command that
 * arrives twice, or late, changes nothing. The condition also includes the bound of the outbox, which no race can then
 * exceed, and two rules that only a programming error could break: entries are consecutive, and a generation has one
 * hold.
 */
function changeFilter(account: UUID, change: AccountChange): Filter<AccountDocument> {
  const { expectedVersion, entries } = change;
  const opened = openedAnew(change);
  const [first] = entries;
  return {
    _id: account,
    version: expectedVersion,
    ...(first === undefined
      ? {}
      : { lastSequence: first.sequence - 1, [`outbox.${MAX_OUTBOX - entries.length}`]: { $exists: false } }),
    ...(opened.length === 0 ? {} : { 'holds.generation': { $nin: opened } }),
  };
}

/**
 * The change as one update of one document. Values are literal: what an operator wrote may begin with a dollar sign.
 */
function changeUpdate(change: AccountChange): Document[] {
  const { version, lastSequence, entries, holdsOpened, holdsClosed, profile, capUses = [] } = change;
  const dropped = change.capUsesDropped ?? [];
  const changed = profile === undefined ? {} : profileDocument(profile);
  const totals = { version, lastSequence, ...booksDocument(change), ...changed };
  return [
    {
      $set: {
        ...Object.fromEntries(Object.entries(totals).map(([name, value]) => [name, literal(value)])),
        ...(holdsOpened.length + holdsClosed.length === 0 ? {} : { holds: holdsAfter(change) }),
        ...(entries.length === 0 ? {} : { outbox: { $concatArrays: ['$outbox', literal(entries.map(outboxEntry))] } }),
        ...Object.fromEntries(capUses.map((use) => [capUsePath(use.credentialId), literal(capUseDocument(use))])),
      },
    },
    ...(dropped.length === 0 ? [] : [{ $unset: dropped.map(capUsePath) }]),
  ];
}

/** No other change is made to the profile of an erased account, so that none ends an erasure. */
function profileDocument({ name, suspendedAt, erasedAt }: AccountProfile): Document {
  return { name, suspendedAt: suspendedAt ?? null, ...(erasedAt === undefined ? {} : { erasedAt }) };
}

/**
 * The same change with the condition inside: it raises a conversion error where it may not be applied, so that no write of
 * the same ordered command follows it.
 */
function guardedUpdate(change: AccountChange): Document[] {
  const { expectedVersion, entries } = change;
  const [first] = entries;
  const conditions = [
    { $eq: ['$version', literal(expectedVersion)] },
    { $eq: [{ $size: { $setIntersection: [HELD, literal(openedAnew(change))] } }, 0] },
    ...(first === undefined
      ? []
      : [
          { $eq: ['$lastSequence', literal(first.sequence - 1)] },
          { $lte: [{ $size: '$outbox' }, MAX_OUTBOX - entries.length] },
        ]),
  ];
  return [{ $set: { version: { $cond: [{ $and: conditions }, '$version', NO_NUMBER] } } }, ...changeUpdate(change)];
}

const HELD = { $map: { input: '$holds', as: 'hold', in: '$$hold.generation' } };

/** Raises an error where it is evaluated. It names a field, as a server may evaluate a constant before it is needed. */
const NO_NUMBER = { $toInt: { $concat: ['another version: ', { $toString: '$version' }] } };

/** Generations that may have no hold before the change: those that it opens one for and closes none. */
function openedAnew({ holdsOpened, holdsClosed }: AccountChange): UUID[] {
  const closed = new Set(holdsClosed);
  return holdsOpened
    .filter(({ generationId }) => !closed.has(generationId))
    .map(({ generationId }) => ownUuid(generationId));
}

/** Credentials are named by ids without dots and dollar signs, which would be read as paths. */
function capUsePath(credentialId: string): string {
  assert(/^[\w-]+$/u.test(credentialId), 'only credentials with an id have a cap');
  return `capUses.${credentialId}`;
}

/** The holds closed, then those opened. A hold that is closed and not there, or an id that is none, closes nothing. */
function holdsAfter({ holdsOpened, holdsClosed }: AccountChange): Document {
  const closed = holdsClosed.map(uuidOf).filter((id) => id !== null);
  const isOpen = { $not: [{ $in: ['$$hold.generation', literal(closed)] }] };
  return {
    $concatArrays: [{ $filter: { input: '$holds', as: 'hold', cond: isOpen } }, literal(holdsOpened.map(holdDocument))],
  };
}

function literal(value: unknown): Document {
  return { $literal: value };
}

type AccountHold = Hold & { readonly accountId: string };

const BY_TIME = 'holds_by_time';
/** The first time window to search; doubled whenever it was too small. */
const FIRST_WINDOW_MS = 60_000;

/**
 * Open holds of all accounts by age. The index finds accounts that have a hold from a given time, but not in an order
 * that lists holds of several accounts, so they have to be sorted. The search therefore reads one time window after
 * another, and the cost of a page depends on the windows it covers rather than on the number of all holds. The
 * windows double in size and times without holds are skipped, so there are few windows however long the period is.
 */
class OldHolds {
  constructor(private readonly accounts: Documents<AccountDocument>) {}

  /**
   * Up to `limit` of those held before a time, oldest first, after the one that the cursor names; none for a cursor
   * that is none.
   */
  async find(heldBefore: number, cursor: string | undefined, limit: number): Promise<AccountHold[]> {
    const after = cursor === undefined ? undefined : placeOf(cursor);
    if (after === null) return [];
    const found: AccountHold[] = [];
    let from = after?.heldAt ?? (await this.oldest(-Infinity, heldBefore));
    for (let windowMs = FIRST_WINDOW_MS; from < heldBefore && found.length < limit; windowMs *= 2) {
      const to = Math.min(from + windowMs, heldBefore);
      const more = await this.between(from, to, after, limit - found.length);
      found.push(...more);
      from = more.length > 0 ? to : await this.oldest(to, heldBefore);
    }
    return found;
  }

  /** Oldest first. All those of the window are sorted, and only as many kept as requested. */
  private async between(from: number, to: number, after: Place | undefined, limit: number): Promise<AccountHold[]> {
    const stages = [
      { $match: heldIn(from, to) },
      { $project: { hold: '$holds' } },
      { $unwind: '$hold' },
      { $match: { 'hold.heldAt': { $gte: from, $lt: to }, ...(after === undefined ? {} : laterThan(after)) } },
      { $sort: { 'hold.heldAt': 1, '_id': 1, 'hold.generation': 1 } },
      { $limit: limit },
    ];
    const found = await this.accounts.aggregate<{ _id: UUID; hold: HoldDocument }>(stages, BY_TIME);
    return found.map(({ _id, hold }) => ({ accountId: textOf(_id), ...holdOf(hold) }));
  }

  /**
   * The time of the oldest hold in a span; Infinity if there is none. A sort would read the whole span. Without one a
   * server answers in the order of the index, oldest first, and needs only one more query to confirm it; with several
   * shards each has its own oldest.
   */
  private async oldest(from: number, to: number): Promise<number> {
    let [oldest, before] = [Infinity, to];
    while (from < before) {
      const filter = heldIn(from, before);
      const options = { projection: { '_id': 0, 'holds.heldAt': 1 }, hint: BY_TIME };
      const account = await this.accounts.first<Pick<AccountDocument, 'holds'>>(filter, options);
      if (account === null) break;
      oldest = account.holds.reduce((least, { heldAt }) => (heldAt >= from ? Math.min(least, heldAt) : least), before);
      assert(oldest < before, 'an account that is found by a hold has it');
      before = oldest;
    }
    return oldest;
  }
}

function cursorOf({ heldAt, accountId, generationId }: AccountHold): string {
  return `${heldAt}/${accountId}/${generationId}`;
}

/** The position of a cursor in the order of holds. */
interface Place {
  readonly heldAt: number;
  readonly account: UUID;
  readonly generation: UUID;
}

function placeOf(cursor: string): Place | null {
  const [time = '', accountId = '', generationId = ''] = cursor.split('/');
  const [heldAt, account, generation] = [Number(time), uuidOf(accountId), uuidOf(generationId)];
  return !Number.isSafeInteger(heldAt) || account === null || generation === null
    ? null
    : { heldAt, account, generation };
}

function heldIn(from: number, to: number) {
  return { holds: { $elemMatch: { heldAt: { $gte: from, $lt: to } } } };
}

function laterThan({ heldAt, account, generation }: Place): Document {
  return {
    $or: [
      { 'hold.heldAt': { $gt: heldAt } },
      { 'hold.heldAt': heldAt, '_id': { $gt: account } },
      { 'hold.heldAt': heldAt, '_id': account, 'hold.generation': { $gt: generation } },
    ],
  };
}
