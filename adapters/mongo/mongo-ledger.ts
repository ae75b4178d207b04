import type { Collection, UUID } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import type { Entry } from '../../core/credits/account.js';
import { StoreUnavailable } from '../../core/errors.js';
import { entryOf, type AccountDocument, type OutboxEntry } from './account-documents.js';
import type { MongoConnection } from './connection.js';
import { MovedEntries, type LedgerForm } from './moved-entries.js';
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
 * there into a separate collection: first it is inserted there, under an id that follows from its number or that of the
 * entry that its document begins with, then removed from the outbox. If that is interrupted, it is in both places with the same content, never in neither; so a reader
 * that reads the account first and the collection afterwards finds everything up to the account's last number.
 */
export class MongoLedger {
  private readonly accounts: Collection<AccountDocument>;
  private readonly moved: MovedEntries;

  constructor(
    private readonly connection: MongoConnection,
    form: LedgerForm,
  ) {
    this.accounts = connection.collection('accounts');
    this.moved = new MovedEntries(connection, form);
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
    const keep = (entry: Entry) => bySequence.set(entry.sequence, entry);
    // The account's own entries take precedence over the collection: they differ only in a restored copy of mixed
    // times.
    const waiting = head.outbox.filter(({ sequence }) => sequence > from && sequence <= to);
    // Numbers have no gaps, so it is known how many there must be.
    if (waiting.length < to - from) (await this.moved.range(head._id, from, to, call)).forEach(keep);
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
    const moved = await this.moved.operation(head._id, operationId);
    return moved === null || moved.sequence > head.lastSequence ? null : moved;
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
    await this.moved.put(
      head._id,
      head.outbox.map((entry) => entryOf(accountId, entry)),
    );
    const moved = { $pull: { outbox: { sequence: { $lte: last.sequence } } } };
    await this.connection.ask((limits) => this.accounts.updateOne({ _id: head._id }, moved, limits));
  }
}
