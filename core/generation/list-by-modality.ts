import type { Caller } from '../access/credential.js';
import type { Call, Models, Work } from '../context.js';
import { fieldInvalid } from '../fields.js';
import { isUuid } from '../ids.js';
import { itemsOf } from '../paging.js';
import type { AppGenerations } from '../ports/stores.js';
import type { Generation, Modality } from './generation.js';
import { isNewer, mergedNewest, type Place } from './merged-lists.js';

export interface ModalityPage {
  readonly modality: Modality;
  /** 1 to 500. */
  readonly limit: number;
  readonly order: 'newest first' | 'oldest first';
  /** The generation id that the page continues behind; the beginning of the list when absent. */
  readonly after?: string;
}

export interface ModalityItems {
  readonly items: readonly Generation[];
  readonly hasMore: boolean;
}

/**
 * The caller's own generations of one modality, by creation and then id: those of its App that models of the catalog made,
 * so that each page is read from the index by model. Those of a model that was removed from the catalog are not listed.
 * A page is full unless it is the last one. The generation that it continues behind may have been deleted. Throws
 * FIELD_INVALID at `/after` for one that this App does not have.
 */
export async function listByModality(
  context: Work & Models & Call,
  { accountId, appId }: Pick<Caller, 'accountId' | 'appId'>,
  { modality, limit, order, after }: ModalityPage,
): Promise<ModalityItems> {
  const place = after === undefined ? undefined : await placeOf(context, { accountId, appId }, after);
  const list: List = (times, pageSize) => newestFirst(context, appId, modality, times, pageSize);
  const found = await (order === 'newest first' ? newest(list, place, limit + 1) : oldest(list, place, limit + 1));
  return { items: found.slice(0, limit), hasMore: found.length > limit };
}

type Times = Pick<AppGenerations, 'createdFrom' | 'createdBefore'>;
/** The list between two times, newest first. Reads at least `pageSize` at a time over all models together. */
type List = (times: Times, pageSize: number) => AsyncGenerator<Generation>;

async function placeOf(
  { generations, call }: Work & Call,
  { accountId, appId }: Pick<Caller, 'accountId' | 'appId'>,
  after: string,
): Promise<Place> {
  const record = isUuid(after) ? await generations.read(after.toLowerCase(), call) : null;
  const isOwn = record !== null && record.accountId === accountId && record.appId === appId;
  if (isOwn && record.kind !== 'void') return record;
  throw fieldInvalid('/after', 'after must be the id of an entry of the last page; begin again without it.');
}

/** Merges the lists of the models, each of which is in the order of its index. */
async function* newestFirst(
  { catalog, generations, call }: Work & Models & Call,
  appId: string,
  modality: Modality,
  times: Times,
  pageSize: number,
): AsyncGenerator<Generation> {
  const models = catalog.models().filter((model) => model.modality === modality);
  const limit = Math.ceil(pageSize / Math.max(1, models.length)) + 1;
  const lists = models.map(({ modelKey }) => {
    const wanted: AppGenerations = { of: 'app', appId, only: { field: 'modelKey', value: modelKey }, ...times };
    return itemsOf((page) => generations.list(wanted, page, call), limit);
  });
  // A model may have made others before it was changed, and one that is being deleted is not shown.
  for await (const one of mergedNewest(lists)) if (one.modality === modality && one.deletedAt === undefined) yield one;
}

function newest(list: List, place: Place | undefined, count: number): Promise<Generation[]> {
  const times = place === undefined ? {} : { createdBefore: place.createdAt + 1 };
  return take(list(times, count), count, (one) => place === undefined || isNewer(place, one));
}

/** How many generations are read for one try at the oldest ones, beyond those that are wanted. */
const SPARE = 100;

/**
 * Stores list from the newest one alone. So the time after the place is halved until it has no more generations than can
 * be read at once, and still as many as are wanted: at most 50 tries for the times that a number can hold in practice.
 */
async function oldest(list: List, place: Place | undefined, count: number): Promise<Generation[]> {
  const createdFrom = place?.createdAt ?? 0;
  const isBehind = (one: Generation): boolean => place === undefined || isNewer(one, place);
  // Before `tooFew` are fewer than wanted, and before `tooMany` more than can be read at once.
  let [tooFew, tooMany]: [number, number | undefined] = [createdFrom, undefined];
  let createdBefore: number | undefined;
  for (;;) {
    const times = { createdFrom, ...(createdBefore === undefined ? {} : { createdBefore }) };
    const found = await take(list(times, count + SPARE), count + SPARE, isBehind);
    const isAll = found.length < count + SPARE;
    if (isAll && (createdBefore === undefined || found.length >= count)) return found.toReversed().slice(0, count);
    if (isAll) tooFew = createdBefore ?? tooFew;
    else tooMany = createdBefore ?? (found[0]?.createdAt ?? createdFrom) + 1;
    if (tooMany === undefined || tooMany - tooFew <= 1) break;
    createdBefore = tooFew + Math.floor((tooMany - tooFew) / 2);
  }
  // Many were created in one millisecond, which is not divided any further.
  const rest = await take(list({ createdFrom, createdBefore: tooFew + 1 }, count + SPARE), Infinity, isBehind);
  return rest.toReversed().slice(0, count);
}

async function take(
  from: AsyncGenerator<Generation>,
  count: number,
  isWanted: (one: Generation) => boolean,
): Promise<Generation[]> {
  const taken: Generation[] = [];
  for await (const one of from) {
    if (isWanted(one)) taken.push(one);
    if (taken.length >= count) break;
  }
  return taken;
}
