import type { UUID } from 'mongodb';
import { isDeepStrictEqual } from 'node:util';
import { assert } from '../../core/assert.js';
import type { Cancellation } from '../../core/cancellation.js';
import type { Entry } from '../../core/credits/account.js';
import { StoreUnavailable } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import {
  type AccountDocument,
  entriesOf,
  entryDocument,
  type EntryDocument,
  type EntryGroupDocument,
  entryId,
  entryOf,
  groupDocument,
  MAX_GROUP,
  type OutboxEntry,
} from './account-documents.js';
import type { MongoConnection } from './connection.js';
import { Documents, ownUuid, textOf } from './documents.js';
import { BY_ID } from './schema.js';

/**
 * How entries are written: in a document each, which every release reads, or in documents of many. Both are always read.
 */
export type LedgerForm = 'single' | 'grouped';

/**
 * The part of the account that a reader of a ledger must read first: the last number of the ledger, and the entries still in
 * the outbox.
 */
export interface LedgerHead {
  readonly _id: UUID;
  readonly version: number;
  readonly lastSequence: number;
  readonly outbox: readonly OutboxEntry[];
}

const HEAD = { version: 1, lastSequence: 1, outbox: 1 } as const;

/**
 * The ledgers. An entry is written into its account's document, together with the change it records, and moves from
 * there into a separate collection: first it is inserted there, under an id that follows from its number or that of the
 * entry that its document begins with, then removed from the outbox. If that is interrupted, it is in both places with the same content, never in neither; so a reader
 * that reads the account first and the collection afterwards finds everything up to the account's last number.
 */
export class MongoLedger {
  private readonly accounts: Documents<AccountDocument>;
  /**
   * The entries that have left their accounts. They are never changed, and there may be two documents with one entry, of two
   * processes that have moved it at the same time, but never two entries with one number.
   */
  private readonly moved: Documents<MovedDocument>;

  constructor(
    connection: MongoConnection,
    private readonly form: LedgerForm,
  ) {
    this.accounts = new Documents(connection, 'accounts');
    this.moved = new Documents(connection, 'entries');
  }

  /**
   * Read from the majority, where the server has one: an entry that could still be rolled back must not leave the
   * account, or its number could be given to another entry while it is in the ledger.
   */
  head(account: UUID, call?: Cancellation): Promise<LedgerHead | null> {
    return this.accounts.first<LedgerHead>({ _id: account }, { projection: HEAD }, call);
  }

  /** The entries after number `from` up to number `to`, all of them; `to` is not past the head's last. */
  async range(head: LedgerHead, from: number, to: number, call?: Cancellation): Promise<Entry[]> {
    const accountId = textOf(head._id);
    const bySequence = new Map<number, Entry>();
    const keep = (entry: Entry) => bySequence.set(entry.sequence, entry);
    // The account's own entries take precedence over the collection: they differ only in a restored copy of mixed
    // times.
    const waiting = head.outbox.filter(({ sequence }) => sequence > from && sequence <= to);
    // Numbers have no gaps, so it is known how many there must be.
    if (waiting.length < to - from) (await this.movedRange(head._id, from, to, call)).forEach(keep);
    waiting.forEach((entry) => keep(entryOf(accountId, entry)));
    return Array.from({ length: to - from }, (_, index) => {
      const entry = bySequence.get(from + index + 1);
      if (entry === undefined)
        throw new StoreUnavailable(`Entry ${from + index + 1} of account ${accountId} cannot be found.`);
      return entry;
    });
  }

  /** The entry that carries the operation id, up to the head's last; or null. */
  async operation(head: LedgerHead, operationId: string): Promise<Entry | null> {
    const waiting = head.outbox.find(({ operation }) => operation === operationId);
    if (waiting !== undefined) return entryOf(textOf(head._id), waiting);
    const filter = { account: head._id, operation: operationId };
    const found = await this.moved.first(filter, { hint: 'entries_by_operation' });
    const moved = found === null ? undefined : entriesOf(found)[0];
    return moved === undefined || moved.sequence > head.lastSequence ? null : moved;
  }

  /** Up to `limit` accounts whose outbox holds an entry from before a time; the first of an outbox is its oldest. */
  async waitingSince(before: number, limit: number): Promise<string[]> {
    const options = { projection: { _id: 1 }, limit, hint: 'accounts_by_outbox' };
    const found = await this.accounts.find({ 'outbox.0.at': { $lt: before } }, options);
    return found.map(({ _id }) => textOf(_id));
  }

  /**
   * Moves the current entries of the account's outbox. May run many times concurrently, be interrupted anywhere, and be
   * repeated.
   */
  async flush(accountId: string): Promise<void> {
    const head = await this.head(ownUuid(accountId));
    const last = head?.outbox.at(-1);
    if (head === null || last === undefined) return;
    const entries = head.outbox.map((entry) => entryOf(accountId, entry));
    await this.store(head._id, entries);
    const moved = { $pull: { outbox: { sequence: { $lte: last.sequence } } } };
    await this.accounts.update({ _id: head._id }, moved);
  }

  /**
   * Removes the texts from entries that the given ones do not have. The outbox is emptied first, and each text is removed
   * by itself: other processes may remove other texts of the same document. One that moves the same entries at this moment
   * may store an entry a second time, with its texts; the second round of an erasure finds that one.
   */
  async removeTexts(accountId: string, entries: readonly Entry[]): Promise<void> {
    const [first, last] = [entries[0]?.sequence, entries.at(-1)?.sequence];
    if (first === undefined || last === undefined) return;
    await this.flush(accountId);
    const wanted = new Map(entries.map((entry) => [entry.sequence, entry]));
    for (const document of await this.movedDocuments(ownUuid(accountId), first - 1, last)) {
      const removed = textsToRemove(document, wanted);
      if (removed.length === 0) continue;
      const { _id, account } = document;
      await this.moved.update({ _id, account }, { $unset: Object.fromEntries(removed.map((path) => [path, ''])) });
    }
  }

  /** The entries after number `from` up to number `to`, those that have been moved, in no order. */
  private async movedRange(account: UUID, from: number, to: number, call?: Cancellation): Promise<Entry[]> {
    const found = await this.movedDocuments(account, from, to, call);
    return found.flatMap(entriesOf).filter(({ sequence }) => sequence > from && sequence <= to);
  }

  private movedDocuments(account: UUID, from: number, to: number, call?: Cancellation): Promise<MovedDocument[]> {
    const accountId = textOf(account);
    // A document that begins before them may reach into them.
    const reach = entryId(accountId, Math.max(0, from + 1 - MAX_GROUP));
    // The query names the account too, so that a sharded cluster queries only the shard of its ledger.
    const filter = { _id: { $gt: reach, $lte: entryId(accountId, to) }, account };
    return this.moved.find(filter, { hint: BY_ID }, call);
  }

  /**
   * Stores consecutive entries of an account. Entries that already exist were stored by a flush that was interrupted
   * or is still running. Throws if a different entry has one of their numbers, because that entry would be lost when
   * it leaves the outbox.
   */
  private async store(account: UUID, entries: readonly Entry[]): Promise<void> {
    const [first, last] = [entries[0]?.sequence ?? 0, entries.at(-1)?.sequence ?? 0];
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const there = new Set<number>();
      for (const entry of await this.movedRange(account, first - 1, last)) {
        assertSame(entry, entries[entry.sequence - first]);
        there.add(entry.sequence);
      }
      const missing = entries.filter(({ sequence }) => !there.has(sequence));
      if (missing.length === 0) return;
      // Others have stored some of it where not all can be inserted.
      const taken = await this.moved.insertAll(documentsOf(missing, this.form));
      if (taken.length === 0) return;
    }
    throw new StoreUnavailable(`Entries of account ${textOf(account)} are being moved by other processes.`);
  }
}

type MovedDocument = EntryDocument | EntryGroupDocument;

/** How often a flush is overtaken by others of the same account before it leaves the rest to them. */
const MAX_TRIES = 10;

/**
 * An entry never changes, but that its texts may have been removed, and that the attribution or its App may be missing from it:
 * a process of an earlier build, which runs beside this one during an upgrade, does not know them.
 */
function assertSame(there: Entry, entry: Entry | undefined): void {
  assert(entry !== undefined, 'a flush moves consecutive entries');
  const { attribution, operationId, reason, ...bare } = entry;
  const { clientTraceId, appId, actor, ...rest } = attribution ?? { clientTraceId: undefined };
  const by = { ...rest, ...(there.attribution?.appId === undefined ? {} : { appId, ...(actor && { actor }) }) };
  const wanted = {
    ...bare,
    ...(there.operationId === undefined ? {} : { operationId }),
    ...(there.reason === undefined ? {} : { reason }),
    ...(there.attribution === undefined
      ? {}
      : { attribution: there.attribution.clientTraceId === undefined ? by : { ...by, clientTraceId } }),
  };
  assert(isDeepStrictEqual(there, wanted), `entry ${entry.sequence} of account ${entry.accountId} is written once`);
}

/** The paths of the texts that stored entries have and the wanted ones do not. */
function textsToRemove(document: MovedDocument, wanted: ReadonlyMap<number, Entry>): string[] {
  const stored: readonly (readonly [prefix: string, entry: OutboxEntry])[] =
    'entries' in document
      ? document.entries.map((entry, index) => [`entries.${index}.`, entry] as const)
      : [['', document]];
  return stored.flatMap(([prefix, entry]) => {
    const next = wanted.get(entry.sequence);
    if (next === undefined) return [];
    const kept = { operation: next.operationId, reason: next.reason, trace: next.attribution?.clientTraceId };
    const texts = ['operation', 'reason', 'trace'] as const;
    return texts.filter((name) => entry[name] !== undefined && kept[name] === undefined).map((name) => prefix + name);
  });
}

function documentsOf(entries: readonly Entry[], form: LedgerForm): MovedDocument[] {
  if (form === 'single') return entries.map(entryDocument);
  const groups: Entry[][] = [];
  for (const entry of entries) {
    const last = groups.at(-1);
    if (last !== undefined && belongsTo(last, entry)) last.push(entry);
    else groups.push([entry]);
  }
  return groups.map(documentOf);
}

function belongsTo(group: readonly Entry[], { sequence, operationId }: Entry): boolean {
  const last = group.at(-1);
  if (last === undefined || operationId !== undefined || last.operationId !== undefined) return false;
  return last.sequence === sequence - 1 && group.length < MAX_GROUP;
}

function documentOf(group: readonly Entry[]): MovedDocument {
  const first = group[0] as Entry;
  return first.operationId === undefined ? groupDocument(first.accountId, first.sequence, group) : entryDocument(first);
}

/** The number of entries of this process at which an account's outbox is emptied in the background. */
export const FLUSH_FROM = 64;
const MAX_BACKGROUND_FLUSHES = 16;
const MAX_COUNTED_ACCOUNTS = 10_000;

/**
 * Decides when outboxes are emptied: in the background after this process has put a few dozen entries into one; and
 * immediately when one is full. A process runs one flush of an account at a time. Entries in the outbox of an idle
 * account, or of one whose writers have ended, are just as safe there, and are moved by age.
 */
export class LedgerFlushes {
  private readonly counts = new Map<string, number>();
  private readonly underWay = new Map<string, Promise<void>>();
  private isClosed = false;

  /** Accounts whose last flush failed. */
  private readonly failing = new Set<string>();

  constructor(
    private readonly ledger: Pick<MongoLedger, 'flush' | 'waitingSince'>,
    private readonly log: Log,
  ) {}

  /** Reports that this number of entries was added to the account's outbox. */
  added(accountId: string, entries: number): void {
    const count = (this.counts.get(accountId) ?? 0) + entries;
    // An account that is forgotten is flushed a little later, or when its outbox is full.
    if (!this.counts.has(accountId) && this.counts.size >= MAX_COUNTED_ACCOUNTS)
      this.counts.delete(this.counts.keys().next().value ?? '');
    this.counts.set(accountId, count);
    if (count >= FLUSH_FROM) this.flushBehind(accountId);
  }

  /** Moves the current entries out of the outbox. Throws `StoreUnavailable`. */
  flush(accountId: string): Promise<void> {
    const before = this.underWay.get(accountId) ?? Promise.resolve();
    const run = before.catch(() => undefined).then(() => this.run(accountId));
    this.underWay.set(accountId, run);
    const forget = (): void => {
      if (this.underWay.get(accountId) === run) this.underWay.delete(accountId);
    };
    void run.then(forget, forget);
    return run;
  }

  /**
   * Empties outboxes with an entry from before a time, up to `limit` of them, and returns how many. One that cannot be
   * emptied keeps no other from it. Throws `StoreUnavailable`.
   */
  async flushOld(before: number, limit: number): Promise<number> {
    const accountIds = await this.ledger.waitingSince(before, limit);
    let emptied = 0;
    for (const accountId of accountIds) {
      if (this.isClosed) break;
      try {
        await this.flush(accountId);
        this.failing.delete(accountId);
        emptied += 1;
      } catch (error) {
        if (error instanceof StoreUnavailable) throw error;
        this.failed(accountId, error);
      }
    }
    return emptied;
  }

  /** Waits for the flushes in progress; no new one starts by itself afterwards. */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.allSettled(this.underWay.values());
  }

  private flushBehind(accountId: string): void {
    if (this.isClosed || this.underWay.has(accountId) || this.underWay.size >= MAX_BACKGROUND_FLUSHES) return;
    const emptied = (): void => {
      this.failing.delete(accountId);
      // Entries written in the meantime found a flush in progress, and may have been the last for a long time.
      if ((this.counts.get(accountId) ?? 0) >= FLUSH_FROM) this.flushBehind(accountId);
    };
    void this.flush(accountId).then(emptied, (error: unknown) => this.failed(accountId, error));
  }

  /**
   * The next flush makes up for a failed one: the entries are still in the outbox. A failure is logged once, until a
   * flush succeeds.
   */
  private failed(accountId: string, error: unknown): void {
    if (!this.failing.has(accountId)) this.log.warn('ledger entries not moved', { accountId, error });
    this.failing.add(accountId);
  }

  private async run(accountId: string): Promise<void> {
    const counted = this.counts.get(accountId) ?? 0;
    await this.ledger.flush(accountId);
    const since = (this.counts.get(accountId) ?? counted) - counted;
    if (since > 0) this.counts.set(accountId, since);
    else this.counts.delete(accountId);
  }
}
