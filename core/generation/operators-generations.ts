import { requireWanted } from '../cancellation.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import type { Page, PageRequest } from '../paging.js';
import { cancelFound } from './cancel-generation.js';
import type { Generation, GenerationStatus } from './generation.js';

/** Pages of the store that are read for one page of a few statuses; then the rest is left to the next page. */
const MAX_READS = 100;

/** All generations when it is empty. */
export interface GenerationFilter {
  readonly accountId?: string;
  /** One App of the account, which must be given too. */
  readonly appId?: string;
  readonly statuses?: readonly GenerationStatus[];
}

/** Any account's generation, for operators. Throws NOT_FOUND, and says so of one past its retention. */
export async function findGeneration(
  { generations, call }: Pick<Context, 'generations' | 'call'>,
  generationId: string,
): Promise<Generation> {
  const record = await generations.read(generationId, call);
  if (record?.kind === 'generation') return record;
  if (record?.kind !== 'expired') throw new ServiceError('NOT_FOUND', `There is no generation ${generationId}.`);
  throw new ServiceError('NOT_FOUND', `Generation ${generationId} is past its retention, and no longer kept.`);
}

/**
 * Does what a cancel by its client would do. Throws as `findGeneration` does, and `CallOver` before it writes for a
 * call that is over.
 */
export async function cancelAnyGeneration(context: Context, generationId: string): Promise<Generation> {
  const found = await findGeneration(context, generationId);
  requireWanted(context.call);
  return cancelFound(context, found);
}

/**
 * A page of generations, newest first. The store's list is filtered by status in a bounded number of reads, so a page
 * may hold fewer than asked for, or none, although there are more; its cursor continues after the last generation that
 * was examined.
 */
export async function searchGenerations(
  { generations, call }: Pick<Context, 'generations' | 'call'>,
  { accountId, appId, statuses }: GenerationFilter,
  page: PageRequest,
): Promise<Page<Generation>> {
  if (statuses === undefined) return generations.list(accountId, appId, page, call);
  const items: Generation[] = [];
  let cursor = page.cursor;
  let { limit } = page;
  for (let reads = 0; reads < MAX_READS && items.length < page.limit; reads += 1) {
    const found = await generations.list(
      accountId,
      appId,
      { limit, ...(cursor === undefined ? {} : { cursor }) },
      call,
    );
    const matching = found.items.filter(({ status }) => statuses.includes(status));
    const lastThatFits = matching[page.limit - items.length - 1];
    if (lastThatFits !== undefined && matching.at(-1) !== lastThatFits) {
      // Read again up to the last one that fits, for a cursor that continues after it.
      limit = found.items.indexOf(lastThatFits) + 1;
      continue;
    }
    items.push(...matching);
    if (found.nextCursor === undefined) return { items };
    ({ nextCursor: cursor } = found);
    ({ limit } = page);
  }
  return { items, ...(cursor === undefined ? {} : { nextCursor: cursor }) };
}
