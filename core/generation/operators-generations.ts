import { throwIfAborted } from '../cancellation.js';
import type { Call, Machine, Money, Webhooks, Work } from '../context.js';
import { ServiceError } from '../errors.js';
import { matchingPage, type Page, type PageRequest } from '../paging.js';
import type { ListedGenerations } from '../ports/stores.js';
import { cancelFound } from './end-generation.js';
import type { Generation, GenerationStatus } from './generation.js';

/** All generations when it is empty. */
export interface GenerationFilter {
  readonly accountId?: string;
  /** One App of the account, which must be given too. */
  readonly appId?: string;
  readonly statuses?: readonly GenerationStatus[];
}

/** Any account's generation, for operators. Throws NOT_FOUND, and says so of one past its retention. */
export async function findGeneration({ generations, call }: Work & Call, generationId: string): Promise<Generation> {
  const record = await generations.read(generationId, call);
  if (record?.kind === 'generation') return record;
  if (record?.kind !== 'expired') throw new ServiceError('NOT_FOUND', `There is no generation ${generationId}.`);
  throw new ServiceError('NOT_FOUND', `Generation ${generationId} is past its retention, and no longer kept.`);
}

/**
 * Does what a cancel by its client would do. Throws as `findGeneration` does, and `CallOver` before it writes for a
 * call that is over.
 */
export async function cancelAnyGeneration(
  context: Money & Work & Webhooks & Machine & Call,
  generationId: string,
): Promise<Generation> {
  const found = await findGeneration(context, generationId);
  throwIfAborted(context.call);
  return cancelFound(context, found);
}

/**
 * A page of generations, newest first. Statuses are looked for in a bounded number of reads, so a page may hold fewer
 * than asked for, or none, although there are more.
 */
export async function searchGenerations(
  { generations, call }: Work & Call,
  { accountId, appId, statuses }: GenerationFilter,
  page: PageRequest,
): Promise<Page<Generation>> {
  const list = (asked: PageRequest) => generations.list(listOf(accountId, appId), asked, call);
  const found = await (statuses === undefined
    ? list(page)
    : matchingPage(list, ({ status }) => statuses.includes(status), page));
  // All generations of an App are of one account.
  return found.items.some((one) => accountId !== undefined && one.accountId !== accountId) ? { items: [] } : found;
}

function listOf(accountId: string | undefined, appId: string | undefined): ListedGenerations {
  if (appId !== undefined) return { of: 'app', appId };
  return accountId === undefined ? { of: 'all' } : { of: 'account', accountId };
}
