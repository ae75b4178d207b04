import type { Collection, Document, UUID } from 'mongodb';
import { assert } from '../../core/assert.js';
import type { Hold } from '../../core/credits/account.js';
import { holdOf, type AccountDocument, type HoldDocument } from './account-documents.js';
import type { MongoConnection } from './connection.js';
import { textOf, uuidOf } from './uuid-binary.js';

export type AccountHold = Hold & { readonly accountId: string };

const BY_TIME = 'holds_by_time';
/** The first time window to search; doubled each time it was too small. */
const FIRST_WINDOW_MS = 60_000;

/**
 * Open holds of all accounts by their age. The index finds the accounts that have a hold of some time, but not in an
 * order in which holds of several accounts could be listed: they have to be sorted. So the search goes through one time
 * window after another, and a page costs as much as the windows it covers, not as much as all existing holds. As
 * windows double, and times without holds are skipped, there are few windows however long the time is.
 */
export class OldHolds {
  private readonly accounts: Collection<AccountDocument>;

  constructor(private readonly connection: MongoConnection) {
    this.accounts = connection.collection('accounts');
  }

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
    const pipeline = [
      { $match: heldIn(from, to) },
      { $project: { hold: '$holds' } },
      { $unwind: '$hold' },
      { $match: { 'hold.heldAt': { $gte: from, $lt: to }, ...(after === undefined ? {} : laterThan(after)) } },
      { $sort: { 'hold.heldAt': 1, '_id': 1, 'hold.generation': 1 } },
      { $limit: limit },
    ];
    const found = await this.connection.ask((limits) =>
      this.accounts.aggregate<{ _id: UUID; hold: HoldDocument }>(pipeline, { ...limits, hint: BY_TIME }).toArray(),
    );
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
      const account = await this.connection.ask((limits) =>
        this.accounts.findOne<Pick<AccountDocument, 'holds'>>(filter, {
          projection: { '_id': 0, 'holds.heldAt': 1 },
          ...limits,
          hint: BY_TIME,
        }),
      );
      if (account === null) break;
      oldest = account.holds.reduce((least, { heldAt }) => (heldAt >= from ? Math.min(least, heldAt) : least), before);
      assert(oldest < before, 'an account that is found by a hold has it');
      before = oldest;
    }
    return oldest;
  }
}

export function cursorOf({ heldAt, accountId, generationId }: AccountHold): string {
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
