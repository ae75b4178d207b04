import type { Page, PageRequest } from './paging.js';

/** Pages of a list that are read for one page of what matches; then the rest is left to the next page. */
const MAX_READS = 100;

/**
 * A page of those that match, of a list. It is made in a bounded number of reads, so it may hold fewer than asked for,
 * or none, although there are more; its cursor continues after the last one that was examined.
 */
export async function matchingPage<T>(
  list: (page: PageRequest) => Promise<Page<T>>,
  matches: (item: T) => boolean,
  page: PageRequest,
): Promise<Page<T>> {
  const items: T[] = [];
  let cursor = page.cursor;
  let { limit } = page;
  for (let reads = 0; reads < MAX_READS && items.length < page.limit; reads += 1) {
    const found = await list({ limit, ...(cursor === undefined ? {} : { cursor }) });
    const matching = found.items.filter(matches);
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
