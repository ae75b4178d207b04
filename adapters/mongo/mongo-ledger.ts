import { MongoBulkWriteError, type Collection, type UUID } from 'mongodb';
import { assert } from '../../core/assert.js';
import type { Cancellation } from '../../core/cancellation.js';
import type { Entry } from '../../core/credits/account.js';
import { StoreUnavailable } from '../../core/errors.js';
import {
  entryDocument,
  entryId,
  entryOf,
  type AccountDocument,
  type EntryDocument,
  type OutboxEntry,
} from './account-documents.js';
import type { MongoConnection } from './connection.js';
import { BY_ID } from './schema.js';
import { DUPLICATE_KEY } from './store-errors.js';
import { ownUuid, textOf } from './uuid-binary.js';

/**
 * What a reader of a ledger must read from the account first: the last number of the ledger, and the entries still in
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
 * there into a separate collection: first it is inserted there, under an id that follows from its number, then removed
 * from the outbox. If that is interrupted, it is in both places with the same content, never in neither; so a reader
 * that reads the account first and the collection afterwards finds everything up to the account's last number.
 */
export class MongoLedger {
  private readonly accounts: Collection<AccountDocument>;
  private readonly entries: Collection<EntryDocument>;

  constructor(private readonly connection: MongoConnection) {
    this.accounts = connection.collection('accounts');
    this.entries = connection.collection('entries');
  }

  /**
   * Read from the majority, where the server has one: an entry that could still be rolled back must not leave the
   * account, or its number could be given to another entry while it is in the ledger.
   */
  head(account: UUID, call?: Cancellation): Promise<LedgerHead | null> {
    return this.connection.ask(
      (limits) => this.accounts.findOne<LedgerHead>({ _id: account }, { projection: HEAD, ...limits }),
      call,
    );
  }

  /** The entries after number `from` up to number `to`, all of them; `to` is not past the head's last. */
  async range(head: LedgerHead, from: number, to: number, call?: Cancellation): Promise<Entry[]> {
    const accountId = textOf(head._id);
    const bySequence = new Map<number, Entry>();
    const keep = (entry: OutboxEntry) => bySequence.set(entry.sequence, entryOf(accountId, entry));
    // The account's own entries take precedence over the collection: they differ only in a restored copy of mixed
    // times.
    const waiting = head.outbox.filter(({ sequence }) => sequence > from && sequence <= to);
    // Numbers have no gaps, so it is known how many there must be.
    if (waiting.length < to - from) (await this.moved(head._id, from, to, call)).forEach(keep);
    waiting.forEach(keep);
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
    const moved = await this.connection.ask((limits) =>
      this.entries.findOne(filter, { ...limits, hint: 'entries_by_operation' }),
    );
    return moved === null || moved.sequence > head.lastSequence ? null : entryOf(textOf(head._id), moved);
  }

  /** Up to `limit` accounts whose outbox holds an entry from before a time; the first of an outbox is its oldest. */
  async waitingSince(before: number, limit: number): Promise<string[]> {
    const found = await this.connection.ask((limits) =>
      this.accounts
        .find(
          { 'outbox.0.at': { $lt: before } },
          { projection: { _id: 1 }, limit, ...limits, hint: 'accounts_by_outbox' },
        )
        .toArray(),
    );
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
    await this.put(
      head._id,
      head.outbox.map((entry) => entryOf(accountId, entry)),
    );
    const moved = { $pull: { outbox: { sequence: { $lte: last.sequence } } } };
    await this.connection.ask((limits) => this.accounts.updateOne({ _id: head._id }, moved, limits));
  }

  /** Entries that exist already were inserted by a flush that was interrupted or is still running. */
  private async put(account: UUID, entries: readonly Entry[]): Promise<void> {
    try {
      await this.connection.ask((limits) =>
        this.entries.insertMany(entries.map(entryDocument), { ...limits, ordered: false }),
      );
    } catch (error) {
      if (!isOnlyDuplicates(error)) throw error;
      await this.checkSame(account, entries);
    }
  }

  /**
   * An entry never changes. If another one stood under its number, it would be lost once the outbox let go of it. Only
   * the attribution may be missing from it: a process of the release before, which runs beside this one during an
   * upgrade, does not know that.
   */
  private async checkSame(account: UUID, entries: readonly Entry[]): Promise<void> {
    const filter = { _id: { $in: entries.map(({ accountId, sequence }) => entryId(accountId, sequence)) }, account };
    const found = await this.connection.ask((limits) =>
      this.entries.find(filter, { ...limits, hint: BY_ID }).toArray(),
    );
    const written = new Map(found.map((entry) => [entry.sequence, entryOf(textOf(entry.account), entry)]));
    for (const entry of entries) {
      const there = written.get(entry.sequence);
      if (there === undefined)
        throw new StoreUnavailable(`Entry ${entry.sequence} of account ${entry.accountId} cannot be found.`);
      assert(isSame(there, entry), `entry ${entry.sequence} of account ${entry.accountId} is written once`);
    }
  }

  private moved(account: UUID, from: number, to: number, call: Cancellation | undefined): Promise<EntryDocument[]> {
    const accountId = textOf(account);
    // The query names the account too, so that a sharded cluster queries only the shard of its ledger.
    const filter = { _id: { $gt: entryId(accountId, from), $lte: entryId(accountId, to) }, account };
    return this.connection.ask((limits) => this.entries.find(filter, { ...limits, hint: BY_ID }).toArray(), call);
  }
}

function isSame(there: Entry, { attribution, ...entry }: Entry): boolean {
  const wanted = there.attribution === undefined ? entry : { ...entry, attribution };
  return JSON.stringify(there) === JSON.stringify(wanted);
}

/** Whether every document that was not inserted had been there, and nothing else went wrong. */
function isOnlyDuplicates(error: unknown): boolean {
  if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError() !== undefined) return false;
  return [error.writeErrors].flat().every(({ code }) => code === DUPLICATE_KEY);
}
