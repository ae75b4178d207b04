import type { Call, Files, Identity, Machine, Work } from '../context.js';
import { type Creator, creatorOf } from '../credits/creators.js';
import { ServiceError } from '../errors.js';
import { fieldInvalid } from '../fields.js';
import { isUuid } from '../ids.js';
import { itemsOf, matchingPage, type Page, type PageRequest } from '../paging.js';
import { findGrant } from '../people/grants.js';
import type { AppGenerations } from '../ports/stores.js';
import { type Generation, type GenerationView, MODALITIES, type Modality } from './generation.js';
import { isNewer, mergedNewest, type Place } from './merged-lists.js';
import { type ListFilter, readListFilter, type SentFilter, viewGeneration } from './read-generations.js';

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
 * Throws FIELD_INVALID for an unknown status or modality and for texts that are empty or too long, and NOT_FOUND for a
 * text that is not the id of an App.
 */
export function readAccountFilter({ appId, credentialId, modality, ...sent }: SentAccountFilter): AccountFilter {
  const filter = readListFilter({ ...sent, clientTraceId: undefined });
  const known = MODALITIES.find((one) => one === modality);
  if (modality !== undefined && known === undefined)
    throw fieldInvalid('/modality', `modality must be one of ${MODALITIES.join(', ')}.`);
  if (credentialId !== undefined && (credentialId === '' || credentialId.length > MAX_LISTED_CREDENTIAL))
    throw fieldInvalid('/credential_id', `credential_id must have 1 to ${MAX_LISTED_CREDENTIAL} characters.`);
  if (appId !== undefined && !isUuid(appId)) throw noSuchApp();
  return {
    ...filter,
    ...(appId === undefined ? {} : { appId: appId.toLowerCase() }),
    ...(credentialId === undefined ? {} : { credentialId: credentialId.toLowerCase() }),
    ...(known === undefined ? {} : { modality: known }),
  };
}

function noSuchApp(): ServiceError {
  return new ServiceError('NOT_FOUND', 'There is no such App.');
}

/** With more Apps the list of the account is read instead of those of its Apps, in the order of ids. */
const MAX_MERGED_APPS = 100;
/** Generations that are examined for one page. */
const MAX_EXAMINED = 2_000;

/**
 * A page of the generations of an account, newest first. The App, the times and one of status and model use an index;
 * with other conditions a page may hold fewer than requested, or none, although there are more: it examines at most
 * 2,000 generations, or 5,000 of an account with more than 100 Apps. Throws NOT_FOUND for an App of another account.
 */
export async function listAccountGenerations(
  context: Work & Identity & Call,
  accountId: string,
  filter: AccountFilter,
  page: PageRequest,
): Promise<Page<Generation>> {
  const apps = await appsOf(context, accountId, filter);
  const matches = (g: Generation): boolean => g.accountId === accountId && matchesFilter(g, filter);
  if (apps !== undefined && !isPlaceOfAccount(page.cursor)) return mergedPage(context, apps, filter, page, matches);
  const wanted = { of: 'account', accountId } as const;
  return matchingPage((asked) => context.generations.list(wanted, asked, context.call), matches, page);
}

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

async function mergedPage(
  { generations, call }: Work & Call,
  apps: readonly string[],
  filter: AccountFilter,
  { limit, cursor }: PageRequest,
  matches: (g: Generation) => boolean,
): Promise<Page<Generation>> {
  const place = cursor === undefined ? undefined : readPlace(cursor);
  const lists = apps.map((appId) => {
    const wanted = listOf(appId, filter, place);
    const atOnce = Math.ceil((limit + 1) / apps.length) + 1;
    return itemsOf((page) => generations.list(wanted, page, call), atOnce);
  });
  const items: Generation[] = [];
  let last: Generation | undefined;
  let examined = 0;
  for await (const one of mergedNewest(lists)) {
    if (place !== undefined && !isNewer(place, one)) continue;
    if (last !== undefined && (items.length === limit || examined === MAX_EXAMINED))
      return { items, nextCursor: `${last.createdAt}.${last.generationId}` };
    if (matches(one)) items.push(one);
    last = one;
    examined += 1;
  }
  return { items };
}

/** Most generations succeed, so that a model usually leaves fewer than this status. */
function listOf(
  appId: string,
  { status, modelKey, createdFrom, createdBefore }: AccountFilter,
  place: Place | undefined,
): AppGenerations {
  const byModel = modelKey !== undefined && (status === undefined || status === 'succeeded');
  const only = byModel
    ? ({ field: 'modelKey', value: modelKey } as const)
    : ({ field: 'status', value: status } as const);
  const before = place === undefined ? createdBefore : Math.min(createdBefore ?? Infinity, place.createdAt + 1);
  return {
    of: 'app',
    appId,
    ...(only.value === undefined ? {} : { only: { field: only.field, value: only.value } }),
    ...(createdFrom === undefined ? {} : { createdFrom }),
    ...(before === undefined ? {} : { createdBefore: before }),
  };
}

/** A cursor of the merged lists has a dot; that of the list of an account has none. */
function isPlaceOfAccount(cursor: string | undefined): boolean {
  return cursor !== undefined && !cursor.includes('.');
}

function readPlace(cursor: string): Place {
  const [createdAt = '', generationId = ''] = cursor.split('.');
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
