import type { AnyBulkWriteOperation, Collection, UUID } from 'mongodb';
import { assert } from '../../core/assert.js';
import type { Cancellation } from '../../core/cancellation.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { DayRange, TracePage, UsageChange, UsageStore } from '../../core/ports/stores.js';
import {
  isTrace,
  type TraceRow,
  type UsageKey,
  type UsageRow,
  type UseRow,
  wholeAccount,
} from '../../core/usage/usage.js';
import { type Credits, longOf, numberOf } from './account-documents.js';
import type { MongoConnection } from './connection.js';
import { Documents, ownUuid, takenPlaces, textOf, uuidOf } from './documents.js';
import { BY_ID } from './schema.js';

const BY_APP_TRACE = 'usage_by_app_trace';

interface UsageDocument {
  /**
   * Account and day, then credential and model or the trace id, so that the order of ids is that of an account's days; then,
   * where there is one, a space and the App.
   */
  readonly _id: string;
  readonly account: UUID;
  readonly day: string;
  /** Absent for entries that do not name an App. */
  readonly appUse?: string;
  /** The last entry that it took in. */
  readonly last: number;
  readonly generations: number;
  readonly failed: number;
  readonly reserved: Credits;
  readonly charged: Credits;
  readonly released: Credits;
}

interface UseDocument extends UsageDocument {
  readonly credential: string;
  readonly model: string;
}

interface TraceDocument extends UsageDocument {
  readonly trace: string;
}

type WrittenDocument = UseDocument | TraceDocument;

/** Rows of usage in MongoDB: one document each. */
export class MongoUsageStore implements UsageStore {
  private readonly uses: Documents<UseDocument>;
  private readonly traces: Documents<TraceDocument>;

  constructor(private readonly connection: MongoConnection) {
    this.uses = new Documents(connection, 'usage');
    this.traces = new Documents(connection, 'usage_by_trace');
  }

  async read(keys: readonly UsageKey[], call?: Cancellation): Promise<readonly UsageRow[]> {
    assert(keys.length <= 1_000, 'at most 1,000 rows are read at once');
    const [first] = keys;
    const account = uuidOf(first?.accountId ?? '');
    if (first === undefined || account === null) return [];
    const filter = { _id: { $in: keys.map(idOf) }, account };
    const options = { hint: BY_ID };
    if (isTrace(first)) return (await this.traces.find(filter, options, call)).map(traceRowOf);
    return (await this.uses.find(filter, options, call)).map(useRowOf);
  }

  async apply(changes: readonly UsageChange[]): Promise<'applied' | 'conflict'> {
    assert(changes.length <= 1_000, 'at most 1,000 rows are written at once');
    const [first] = changes;
    if (first === undefined) return 'applied';
    const rows: Collection<WrittenDocument> = this.connection.collection(
      isTrace(first.row) ? 'usage_by_trace' : 'usage',
    );
    try {
      const { insertedCount, matchedCount } = await this.connection.ask((limits) =>
        rows.bulkWrite(changes.map(writeOf), { ...limits, ordered: false }),
      );
      return insertedCount + matchedCount === changes.length ? 'applied' : 'conflict';
    } catch (error) {
      // Another process has inserted those rows.
      takenPlaces(error);
      return 'conflict';
    }
  }

  async list(accountId: string, range: DayRange, page: PageRequest, call?: Cancellation): Promise<Page<UseRow>> {
    const limit = checkedLimit(page.limit) + 1;
    const found = await rowsAfter(this.uses, accountId, range, page.cursor, limit, call);
    return pageOf(found.map(useRowOf), page, idOf);
  }

  async listTraces(
    accountId: string,
    range: DayRange,
    { limit, after, appUse }: TracePage,
    call?: Cancellation,
  ): Promise<readonly TraceRow[]> {
    const place = after && placeOf(accountId, after);
    const only = appUse === undefined ? {} : { appUse };
    return (await rowsAfter(this.traces, accountId, range, place, checkedLimit(limit), call, only)).map(traceRowOf);
  }

  /** The row of the whole account has no day, and so the first id: it is removed before the others. */
  async removeTraces(accountId: string, limit: number): Promise<number> {
    const account = uuidOf(accountId);
    if (account === null) return 0;
    const _id = idOf(wholeAccount(accountId, 'traces'));
    const whole = (await this.traces.remove({ _id, account })) === 'applied' ? 1 : 0;
    if (checkedLimit(limit) === whole) return whole;
    const own = { _id: { $gte: `${accountId}/`, $lt: `${accountId}0` }, account };
    return whole + (await this.traces.removeFirst(own, { _id: 1 }, limit - whole, BY_ID));
  }
}

/** The rows of an account, or of one App, on the days of the range, ordered by id; only those after the place, if one is given. */
async function rowsAfter<D extends UsageDocument>(
  rows: Documents<D>,
  accountId: string,
  { from, to }: DayRange,
  place: string | undefined,
  limit: number,
  call: Cancellation | undefined,
  only: { readonly appUse?: string } = {},
): Promise<D[]> {
  const account = uuidOf(accountId);
  if (account === null) return [];
  const start = place === undefined ? { $gte: `${accountId}/${from}/` } : { $gt: place };
  const filter = { _id: { ...start, $lt: endOf(accountId, to) }, account, ...only };
  const index = only.appUse === undefined ? BY_ID : BY_APP_TRACE;
  return rows.aggregate([{ $match: filter }, { $sort: { _id: 1 } }, { $limit: limit }], index, call);
}

/** The character after the slash, so that all of the last day is in the range. */
function endOf(accountId: string, day: string): string {
  return `${accountId}/${day}0`;
}

/** Neither model keys nor trace ids have spaces, and all of their characters sort after `!`, which sorts after the space. */
function placeOf(accountId: string, { day, clientTraceId, appUse }: NonNullable<TracePage['after']>): string {
  return appUse === undefined
    ? `${accountId}/${day}/${clientTraceId}!`
    : idOf({ accountId, day, clientTraceId, appUse });
}

function idOf(key: UsageKey): string {
  const { accountId, day, appUse } = key;
  const of = isTrace(key) ? key.clientTraceId : `${encodeURIComponent(key.credentialId)}/${key.modelKey}`;
  return `${accountId}/${day}/${of}${appUse === '' ? '' : ` ${appUse}`}`;
}

function writeOf({ row, expectedSequence }: UsageChange): AnyBulkWriteOperation<WrittenDocument> {
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
  const { day } = row;
  const app = row.appUse === '' ? {} : { appUse: row.appUse };
  const of = isTrace(row) ? { trace: row.clientTraceId } : { credential: row.credentialId, model: row.modelKey };
  return { insertOne: { document: { _id, account, day, ...app, ...of, ...sums } } };
}

export function useRowOf(document: UseDocument): UseRow {
  return { ...countedOf(document), credentialId: document.credential, modelKey: document.model };
}

export function traceRowOf(document: TraceDocument): TraceRow {
  return { ...countedOf(document), clientTraceId: document.trace };
}

function countedOf({
  account,
  day,
  appUse = '',
  last,
  generations,
  failed,
  reserved,
  charged,
  released,
}: UsageDocument) {
  return {
    accountId: textOf(account),
    day,
    appUse,
    lastSequence: last,
    generations,
    failed,
    reservedCredits: numberOf(reserved),
    chargedCredits: numberOf(charged),
    releasedCredits: numberOf(released),
  };
}
