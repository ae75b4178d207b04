import { assert } from './assert.js';

/** One page of a list. `nextCursor` is absent on the last page; a cursor is opaque to the caller. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string;
}

export interface PageRequest {
  /** 1 to 1,000 items. */
  readonly limit: number;
  readonly cursor?: string;
}

/** Throws when the limit of a page is out of bounds. */
export function checkedLimit(limit: number): number {
  assert(Number.isInteger(limit) && limit >= 1 && limit <= 1000, `a limit is 1 to 1,000, not ${limit}`);
  return limit;
}

/** Makes a page of items that were read with a limit one higher: the extra item shows that there is a next page. */
export function pageOf<T>(found: readonly T[], request: PageRequest, cursorOf: (item: T) => string): Page<T> {
  const items = found.slice(0, checkedLimit(request.limit));
  const last = items.at(-1);
  return found.length > items.length && last !== undefined ? { items, nextCursor: cursorOf(last) } : { items };
}

/** The items of each page of a list, read `limit` at a time, from after a cursor. */
export async function* pagesOf<T>(
  read: (page: PageRequest) => Promise<Page<T>>,
  limit: number,
  from?: string,
): AsyncGenerator<readonly T[]> {
  let cursor = from;
  do {
    const page: Page<T> = await read({ limit, ...(cursor === undefined ? {} : { cursor }) });
    yield page.items;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

/** The items of a list, read `limit` at a time. */
export async function* itemsOf<T>(
  read: (page: PageRequest) => Promise<Page<T>>,
  limit: number,
): AsyncGenerator<T, void, undefined> {
  for await (const items of pagesOf(read, limit)) yield* items;
}

/** Pages of a list that are read for one page of what matches; then the rest is left to the next page. */
const MAX_READS = 100;

/**
 * A page of matching items of a list. It is made in a bounded number of reads, so it may hold fewer than requested, or
 * none, although there are more; its cursor continues after the last one that was examined.
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
