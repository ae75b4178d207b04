import type { Collection, UUID } from 'mongodb';
import { assert } from '../../core/assert.js';
import type { Cancellation } from '../../core/cancellation.js';
import type { Entry } from '../../core/credits/account.js';
import { StoreUnavailable } from '../../core/errors.js';
import {
  entriesOf,
  entryDocument,
  entryId,
  groupDocument,
  MAX_GROUP,
  type EntryDocument,
  type EntryGroupDocument,
} from './account-documents.js';
import type { MongoConnection } from './connection.js';
import { BY_ID } from './schema.js';
import { insertUnordered } from './unordered-writes.js';
import { textOf } from './uuid-binary.js';

/**
 * How entries are written: in a document each, which every release reads, or in documents of many. Both are always read.
 */
export type LedgerForm = 'single' | 'grouped';

type MovedDocument = EntryDocument | EntryGroupDocument;

/** How often a flush is overtaken by others of the same account before it leaves the rest to them. */
const MAX_TRIES = 10;

/**
 * The entries that have left their accounts. They are never changed, and there may be two documents with one entry, of two
 * processes that have moved it at the same time, but never two entries with one number.
 */
export class MovedEntries {
  private readonly documents: Collection<MovedDocument>;

  constructor(
    private readonly connection: MongoConnection,
    private readonly form: LedgerForm,
  ) {
    this.documents = connection.collection('entries');
  }

  /** The entries after number `from` up to number `to`, those that have been moved, in no order. */
  async range(account: UUID, from: number, to: number, call?: Cancellation): Promise<Entry[]> {
    const accountId = textOf(account);
    // A document that begins before them may reach into them.
    const reach = entryId(accountId, Math.max(0, from + 1 - MAX_GROUP));
    // The query names the account too, so that a sharded cluster queries only the shard of its ledger.
    const filter = { _id: { $gt: reach, $lte: entryId(accountId, to) }, account };
    const found = await this.connection.ask(
      (limits) => this.documents.find(filter, { ...limits, hint: BY_ID }).toArray(),
      call,
    );
    return found.flatMap(entriesOf).filter(({ sequence }) => sequence > from && sequence <= to);
  }

  async operation(account: UUID, operationId: string): Promise<Entry | null> {
    const filter = { account, operation: operationId };
    const found = await this.connection.ask((limits) =>
      this.documents.findOne(filter, { ...limits, hint: 'entries_by_operation' }),
    );
    return found === null ? null : (entriesOf(found)[0] ?? null);
  }

  /**
   * Stores consecutive entries of an account. What is there already was stored by a flush that was interrupted or is still
   * running. Throws where another entry has one of their numbers: it would be lost once the outbox let go of it.
   */
  async put(account: UUID, entries: readonly Entry[]): Promise<void> {
    const [first, last] = [entries[0]?.sequence ?? 0, entries.at(-1)?.sequence ?? 0];
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const there = new Set<number>();
      for (const entry of await this.range(account, first - 1, last)) {
        assertSame(entry, entries[entry.sequence - first]);
        there.add(entry.sequence);
      }
      const missing = entries.filter(({ sequence }) => !there.has(sequence));
      if (missing.length === 0 || (await this.insert(documentsOf(missing, this.form)))) return;
    }
    throw new StoreUnavailable(`Entries of account ${textOf(account)} are being moved by other processes.`);
  }

  /** Whether all are stored; otherwise others have stored some of it. */
  private async insert(documents: readonly MovedDocument[]): Promise<boolean> {
    const taken = await this.connection.ask((limits) => insertUnordered(this.documents, documents, limits));
    return taken.length === 0;
  }
}

/**
 * An entry never changes. Only the attribution may be missing from it: a process of the release before, which runs beside
 * this one during an upgrade, does not know that.
 */
function assertSame(there: Entry, entry: Entry | undefined): void {
  assert(entry !== undefined, 'a flush moves consecutive entries');
  const { attribution, ...bare } = entry;
  const wanted = there.attribution === undefined ? bare : { ...bare, attribution };
  assert(
    JSON.stringify(there) === JSON.stringify(wanted),
    `entry ${entry.sequence} of account ${entry.accountId} is written once`,
  );
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
