import { MongoBulkWriteError, type AnyBulkWriteOperation, type Collection, type UUID } from 'mongodb';
import { assert } from '../../core/assert.js';
import type { Cancellation } from '../../core/cancellation.js';
import { checkedLimit, pageOf, type Page, type PageRequest } from '../../core/paging.js';
import type { DayRange, UsageChange, UsageStore } from '../../core/ports/usage-store.js';
import type { UsageKey, UsageRow } from '../../core/usage/usage.js';
import { longOf, numberOf, type Credits } from './account-documents.js';
import type { MongoConnection } from './connection.js';
import { BY_ID } from './schema.js';
import { DUPLICATE_KEY } from './store-errors.js';
import { ownUuid, textOf, uuidOf } from './uuid-binary.js';

interface UsageDocument {
  /** Account, day, credential and model, so that the order of ids is that of an account's days. */
  readonly _id: string;
  readonly account: UUID;
  readonly day: string;
  readonly credential: string;
  readonly model: string;
  /** The last entry that it took in. */
  readonly last: number;
  readonly generations: number;
  readonly failed: number;
  readonly reserved: Credits;
  readonly charged: Credits;
  readonly released: Credits;
}

/** Rows of usage in MongoDB: one document each. */
export class MongoUsageStore implements UsageStore {
  private readonly rows: Collection<UsageDocument>;

  constructor(private readonly connection: MongoConnection) {
    this.rows = connection.collection('usage');
  }

  async read(keys: readonly UsageKey[], call?: Cancellation): Promise<readonly UsageRow[]> {
    assert(keys.length <= 1_000, 'at most 1,000 rows are read at once');
    const account = uuidOf(keys[0]?.accountId ?? '');
    if (account === null) return [];
    const filter = { _id: { $in: keys.map(idOf) }, account };
    const found = await this.connection.ask(
      (limits) => this.rows.find(filter, { ...limits, hint: BY_ID }).toArray(),
      call,
    );
    return found.map(rowOf);
  }

  async apply(changes: readonly UsageChange[]): Promise<'applied' | 'conflict'> {
    assert(changes.length <= 1_000, 'at most 1,000 rows are written at once');
    if (changes.length === 0) return 'applied';
    try {
      const { insertedCount, matchedCount } = await this.connection.ask((limits) =>
        this.rows.bulkWrite(changes.map(writeOf), { ...limits, ordered: false }),
      );
      return insertedCount + matchedCount === changes.length ? 'applied' : 'conflict';
    } catch (error) {
      if (isOnlyDuplicates(error)) return 'conflict';
      throw error;
    }
  }

  async list(
    accountId: string,
    { from, to }: DayRange,
    page: PageRequest,
    call?: Cancellation,
  ): Promise<Page<UsageRow>> {
    const [account, limit] = [uuidOf(accountId), checkedLimit(page.limit) + 1];
    if (account === null) return { items: [] };
    const start = page.cursor === undefined ? { $gte: `${accountId}/${from}/` } : { $gt: page.cursor };
    // The character after the slash, so that all of the last day is in the range.
    const filter = { _id: { ...start, $lt: `${accountId}/${to}0` }, account };
    const found = await this.connection.ask(
      (limits) => this.rows.find(filter, { sort: { _id: 1 }, limit, ...limits, hint: BY_ID }).toArray(),
      call,
    );
    return pageOf(found.map(rowOf), page, idOf);
  }
}

function idOf({ accountId, day, credentialId, modelKey }: UsageKey): string {
  return `${accountId}/${day}/${encodeURIComponent(credentialId)}/${modelKey}`;
}

function writeOf({ row, expectedSequence }: UsageChange): AnyBulkWriteOperation<UsageDocument> {
  const [_id, account] = [idOf(row), ownUuid(row.accountId)];
  const sums = {
    last: row.lastSequence,
    generations: row.generations,
    failed: row.failed,
    reserved: longOf(row.reservedCredits),
    charged: longOf(row.chargedCredits),
    released: longOf(row.releasedCredits),
  };
  if (expectedSequence > 0)
    return { updateOne: { filter: { _id, account, last: expectedSequence }, update: { $set: sums }, hint: BY_ID } };
  const { day, credentialId: credential, modelKey: model } = row;
  return { insertOne: { document: { _id, account, day, credential, model, ...sums } } };
}

function rowOf(document: UsageDocument): UsageRow {
  const { account, day, credential, model, last, generations, failed, reserved, charged, released } = document;
  return {
    accountId: textOf(account),
    day,
    credentialId: credential,
    modelKey: model,
    lastSequence: last,
    generations,
    failed,
    reservedCredits: numberOf(reserved),
    chargedCredits: numberOf(charged),
    releasedCredits: numberOf(released),
  };
}

/** Whether every row that was not written had been inserted by another process, and nothing else went wrong. */
function isOnlyDuplicates(error: unknown): boolean {
  if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError() !== undefined) return false;
  return [error.writeErrors].flat().every(({ code }) => code === DUPLICATE_KEY);
}
