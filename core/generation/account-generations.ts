import type { Call, Files, Identity, Machine, Work } from '../context.js';
import { type Creator, creatorOf } from '../credits/creators.js';
import { ServiceError } from '../errors.js';
import { fieldInvalid, isText } from '../fields.js';
import { isUuid, leastIdAt } from '../ids.js';
import { itemsOf, type Page, type PageRequest } from '../paging.js';
import { findGrant } from '../people/grants.js';
import type { AppGenerations } from '../ports/stores.js';
import { findInAccount } from '../search/find-generations.js';
import { facetTerm, type SearchTerm, termsOf } from '../search/words.js';
import { type Generation, type GenerationView, MODALITIES, type Modality } from './generation.js';
import { isNewer, mergedNewest, type Place } from './merged-lists.js';
import { type ListFilter, readListFilter, requireText, type SentFilter, viewGeneration } from './read-generations.js';

/** A filter for the generations of an account, over all its Apps. All given conditions must match. */
export interface AccountFilter extends Omit<ListFilter, 'clientTraceId'> {
  readonly appId?: string;
  /** A key, a connection, a person, or `service:` and the name of an internal service. */
  readonly credentialId?: string;
  readonly modality?: Modality;
}

/** A filter as a front was sent it: what was not sent is undefined. */
export type SentAccountFilter = Omit<SentFilter, 'clientTraceId'> & {
  readonly [F in 'appId' | 'credentialId' | 'modality']: string | undefined;
};

/** The maximum length of a credential id in a filter. */
export const MAX_LISTED_CREDENTIAL = 200;

/**
 * Throws FIELD_INVALID for an unknown status or modality and for texts that are empty, too long or have NUL, and NOT_FOUND for a
 * text that is not the id of an App.
 */
export function readAccountFilter({ appId, credentialId, modality, ...sent }: SentAccountFilter): AccountFilter {
  const filter = readListFilter({ ...sent, clientTraceId: undefined });
  const known = MODALITIES.find((one) => one === modality);
  if (modality !== undefined && known === undefined)
    throw fieldInvalid('/modality', `modality must be one of ${MODALITIES.join(', ')}.`);
  requireText('credential_id', credentialId, MAX_LISTED_CREDENTIAL);
  if (appId !== undefined && !isUuid(appId)) throw noSuchApp();
  return {
    ...filter,
    ...(appId === undefined ? {} : { appId: appId.toLowerCase() }),
    ...(credentialId === undefined ? {} : { credentialId: credentialId.toLowerCase() }),
    ...(known === undefined ? {} : { modality: known }),
  };
}

/** The maximum length of a query, in UTF-16 code units. */
export const MAX_QUERY = 200;

/** A query without white space around it. Throws FIELD_INVALID for one that is empty, too long or has control characters. */
export function readSearchQuery(sent: string): string {
  const query = sent.trim();
  if (query === '' || query.length > MAX_QUERY || /\p{Cc}/u.test(query) || !isText(query))
    throw fieldInvalid('/q', `q must have 1 to ${MAX_QUERY} characters, none of them a control character.`);
  return query;
}

function noSuchApp(): ServiceError {
  return new ServiceError('NOT_FOUND', 'There is no such App.');
}

/** The most Apps whose lists are merged. */
const MAX_MERGED_APPS = 100;
/** Generations that are examined for one page. */
const MAX_EXAMINED = 2_000;

/**
 * A page of the generations of an account, newest first. The lists of its Apps are merged, and use an index for the App, the
 * times, the trace id, and one of status and model. Other filters, and accounts with more than 100 Apps, use the search that
 * finds generations by words. A page may hold fewer than requested, or none, although there are more. Throws NOT_FOUND for an
 * App of another account.
 */
export async function listAccountGenerations(
  context: Work & Identity & Call,
  accountId: string,
  filter: AccountFilter,
  page: PageRequest,
): Promise<Page<Generation>> {
  const apps = await appsOf(context, accountId, filter);
  const isIndexed = filter.modality === undefined && filter.credentialId === undefined;
  const mode = modeOf(page.cursor) ?? (isIndexed && apps !== undefined ? 'merged' : 'found');
  return mode === 'merged' && apps !== undefined
    ? listInApps(context, { accountId, apps }, filter, page)
    : findByTerms(context, accountId, { filter, words: [] }, page);
}

/**
 * How a page is made, as its cursor says: from the merged lists of Apps, from the index of searches by words or by a trace id, or by an id. The next page
 * is made in the same way, whatever has changed since.
 */
type Mode = 'merged' | 'found' | 'trace' | 'ids';
const MODES: Readonly<Record<string, Mode>> = { m: 'merged', f: 'found', t: 'trace', i: 'ids' };

function modeOf(cursor: string | undefined): Mode | undefined {
  return cursor === undefined ? undefined : MODES[cursor[0] ?? ''];
}

function marked<T>(mode: Mode, { items, nextCursor }: Page<T>): Page<T> {
  return nextCursor === undefined ? { items } : { items, nextCursor: `${mode[0]}${nextCursor}` };
}

function unmarked({ limit, cursor }: PageRequest): PageRequest {
  return cursor === undefined ? { limit } : { limit, cursor: cursor.slice(1) };
}

/**
 * A page of the generations that match a filter and a query, newest first: the one with this id, or those whose id begins with
 * it; else those with this trace id; else those with all its words in their prompt, each whole or as the beginning of a word.
 * Throws as `listAccountGenerations` does, and FIELD_INVALID for a query that has no word, and for one that is neither an id
 * nor a trace id where prompts may not be searched.
 */
export async function searchAccountGenerations(
  context: Work & Identity & Call,
  accountId: string,
  { query, mayReadPrompts, ...filter }: AccountFilter & { readonly query: string; readonly mayReadPrompts: boolean },
  page: PageRequest,
): Promise<Page<Generation>> {
  const apps = await appsOf(context, accountId, filter);
  const mode = modeOf(page.cursor);
  if (mode === undefined || mode === 'ids') {
    const found = await findById(context, accountId, { filter, query }, page);
    if (mode === 'ids' || found.items.length > 0) return found;
  }
  if (mode !== 'found') {
    const found = await findByTrace(context, { accountId, apps }, { filter, query }, page);
    if (mode !== undefined || found.items.length > 0 || isUuid(query)) return found;
  }
  const words = termsOf(query);
  if (words.length === 0) throw fieldInvalid('/q', 'A search needs a letter or a digit.');
  if (!mayReadPrompts)
    throw fieldInvalid('/q', 'Prompts cannot be searched here; search for a generation id or a client_trace_id.');
  return findByTerms(context, accountId, { filter, words }, page);
}

interface Asked {
  readonly filter: AccountFilter;
  readonly query: string;
}

/** The length of a query up to which it is not searched for as the beginning of an id. */
const LEAST_ID_PREFIX = 8;

/** Generations whose id begins with a query, which has the first eight digits of an id at least. */
async function findById(
  { generations, call }: Work & Call,
  accountId: string,
  { filter, query }: Asked,
  page: PageRequest,
): Promise<Page<Generation>> {
  const start = query.toLowerCase();
  const first = `${start}${'00000000-0000-0000-0000-000000000000'.slice(start.length)}`;
  if (start.length < LEAST_ID_PREFIX || !isUuid(first)) return { items: [] };
  const last = `${start}${'ffffffff-ffff-ffff-ffff-ffffffffffff'.slice(start.length)}`;
  const { limit, cursor = last } = unmarked(page);
  const found = await generations.list({ of: 'account', accountId }, { limit, cursor }, call);
  const exact = page.cursor === undefined ? await generations.read(last, call) : null;
  const isOwn = exact?.kind === 'generation' && exact.accountId === accountId;
  const items = [...(isOwn ? [exact] : []), ...found.items].filter((one) => one.generationId >= first);
  const isLast = found.nextCursor === undefined || found.nextCursor <= first;
  const matching = items.filter((one) => matchesFilter(one, filter));
  return marked('ids', { items: matching, ...(isLast ? {} : { nextCursor: found.nextCursor }) });
}

const TRACE_ID = /^[A-Za-z0-9._:-]{1,128}$/;

async function findByTrace(
  context: Work & Call,
  { accountId, apps }: { readonly accountId: string; readonly apps: readonly string[] | undefined },
  { filter, query: clientTraceId }: Asked,
  page: PageRequest,
): Promise<Page<Generation>> {
  if (!TRACE_ID.test(clientTraceId)) return { items: [] };
  if (apps !== undefined && modeOf(page.cursor) !== 'trace')
    return listInApps(context, { accountId, apps }, { ...filter, clientTraceId }, page);
  const words = [facetTerm('clientTraceId', clientTraceId)];
  return findByTerms(context, accountId, { filter, words }, page, 'trace');
}

/** How far the time in an id may be from the time of creation, in milliseconds: a request may take long. */
const ID_TIME_MARGIN_MS = 600_000;

async function findByTerms(
  context: Work & Call,
  accountId: string,
  { filter, words }: { readonly filter: AccountFilter; readonly words: readonly SearchTerm[] },
  page: PageRequest,
  mode: Mode = 'found',
): Promise<Page<Generation>> {
  const { createdFrom, createdBefore } = filter;
  const facets = FILTER_FACETS.flatMap((facet) => {
    const value = filter[facet];
    return value === undefined ? [] : [facetTerm(facet, value)];
  });
  const wanted = {
    accountId,
    terms: [...words, ...facets],
    matches: (g: Generation) => matchesFilter(g, filter),
    ...(createdFrom === undefined ? {} : { from: leastIdAt(Math.max(0, createdFrom - ID_TIME_MARGIN_MS)) }),
    ...(createdBefore === undefined ? {} : { before: leastIdAt(createdBefore + ID_TIME_MARGIN_MS) }),
  };
  return marked(mode, await findInAccount(context, wanted, unmarked(page)));
}

/** The conditions that never change for a generation. */
const FILTER_FACETS = ['appId', 'modelKey', 'credentialId', 'modality'] as const;

/** The Apps in which the listed generations can be; undefined if there are too many. */
async function appsOf(
  context: Identity & Call,
  accountId: string,
  { appId, credentialId }: AccountFilter,
): Promise<readonly string[] | undefined> {
  if (appId !== undefined) {
    const app = await context.credentials.readApp(appId, context.call);
    if (app?.accountId !== accountId) throw noSuchApp();
    return [appId];
  }
  const own = credentialId === undefined ? undefined : await appOfCredential(context, credentialId);
  if (own !== undefined) return own.accountId === accountId ? [own.appId] : [];
  const { items } = await context.credentials.listApps(accountId, { limit: MAX_MERGED_APPS + 1 }, context.call);
  return items.length > MAX_MERGED_APPS ? undefined : items.map((app) => app.appId);
}

/** Keys and connections act in one App; people and services in any. */
async function appOfCredential(
  context: Identity,
  credentialId: string,
): Promise<Pick<Generation, 'accountId' | 'appId'> | undefined> {
  if (!isUuid(credentialId)) return undefined;
  return (await context.credentials.findKey({ keyId: credentialId })) ?? (await findGrant(context, credentialId));
}

function matchesFilter(
  g: Generation,
  { appId, status, modelKey, credentialId, modality, createdFrom = -Infinity, createdBefore = Infinity }: AccountFilter,
): boolean {
  return (
    g.deletedAt === undefined &&
    (appId === undefined || g.appId === appId) &&
    (status === undefined || g.status === status) &&
    (modelKey === undefined || g.modelKey === modelKey) &&
    (credentialId === undefined || g.credentialId === credentialId) &&
    (modality === undefined || g.modality === modality) &&
    g.createdAt >= createdFrom &&
    g.createdAt < createdBefore
  );
}

async function listInApps(
  { generations, call }: Work & Call,
  { accountId, apps }: { readonly accountId: string; readonly apps: readonly string[] },
  filter: AppsFilter,
  page: PageRequest,
): Promise<Page<Generation>> {
  const { limit, cursor } = unmarked(page);
  const place = cursor === undefined ? undefined : readPlace(cursor);
  const lists = apps.map((appId) => {
    const wanted = listOf(appId, filter, place);
    const atOnce = Math.ceil((limit + 1) / apps.length) + 1;
    return itemsOf((asked) => generations.list(wanted, asked, call), atOnce);
  });
  const items: Generation[] = [];
  let last: Generation | undefined;
  let examined = 0;
  for await (const one of mergedNewest(lists)) {
    if (place !== undefined && !isNewer(place, one)) continue;
    if (last !== undefined && (items.length === limit || examined === MAX_EXAMINED))
      return marked('merged', { items, nextCursor: `${last.createdAt}.${last.generationId}` });
    if (one.accountId === accountId && matchesFilter(one, filter)) items.push(one);
    last = one;
    examined += 1;
  }
  return { items };
}

type AppsFilter = AccountFilter & Pick<ListFilter, 'clientTraceId'>;

/** A trace id leaves the fewest. Most generations succeed, so that a model usually leaves fewer than this status. */
function listOf(
  appId: string,
  { status, modelKey, clientTraceId, createdFrom, createdBefore }: AppsFilter,
  place: Place | undefined,
): AppGenerations {
  const before = place === undefined ? createdBefore : Math.min(createdBefore ?? Infinity, place.createdAt + 1);
  const [only] = [
    { field: 'clientTraceId', value: clientTraceId } as const,
    { field: 'status', value: status === 'succeeded' && modelKey !== undefined ? undefined : status } as const,
    { field: 'modelKey', value: modelKey } as const,
  ].flatMap(({ field, value }) => (value === undefined ? [] : [{ field, value }]));
  return {
    of: 'app',
    appId,
    ...(only === undefined ? {} : { only }),
    ...(createdFrom === undefined ? {} : { createdFrom }),
    ...(before === undefined ? {} : { createdBefore: before }),
  };
}

function readPlace(cursor: string): Place {
  const [createdAt = '', generationId = ''] = cursor.split('.');
  // One that no list has given out continues after the end.
  if (!/^\d{1,15}$/.test(createdAt)) return { createdAt: 0, generationId };
  return { createdAt: Number(createdAt), generationId };
}

/** A generation with the names that people of its account know. */
export interface NamedGeneration {
  readonly view: GenerationView;
  readonly app: { readonly appId: string; readonly name?: string };
  readonly creator: Creator;
}

/** Adds names and signed URLs. Each App and each credential is read once. */
export async function nameGenerations(
  context: Files & Identity & Machine & Call,
  accountId: string,
  found: readonly Generation[],
): Promise<readonly NamedGeneration[]> {
  const apps = await lookUp(
    found.map(({ appId }) => appId),
    async (appId) => {
      const app = await context.credentials.readApp(appId, context.call);
      return { appId, ...(app?.accountId === accountId ? { name: app.name } : {}) };
    },
  );
  const credentialIds = found.flatMap(({ credentialId }) => credentialId ?? []);
  const creators = await lookUp(credentialIds, (id) => creatorOf(context, accountId, id));
  return Promise.all(
    found.map(async (generation) => {
      const { appId, credentialId = '' } = generation;
      const app: NamedGeneration['app'] = apps.get(appId) ?? { appId };
      const creator = creators.get(credentialId) ?? { kind: 'unknown' };
      return { view: await viewGeneration(context, generation), app, creator };
    }),
  );
}

async function lookUp<T>(ids: readonly string[], read: (id: string) => Promise<T>): Promise<ReadonlyMap<string, T>> {
  return new Map(await Promise.all([...new Set(ids)].map(async (id) => [id, await read(id)] as const)));
}
