import { expect } from 'chai';
import type { Page, PageRequest } from '../../core/paging.js';

/** Every item of a list, read in pages of `limit`; each page but the last must be full, and the last one must end. */
export async function allPages<T>(read: (page: PageRequest) => Promise<Page<T>>, limit: number): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page: Page<T> = await read(cursor === undefined ? { limit } : { limit, cursor });
    items.push(...page.items);
    if (page.nextCursor !== undefined) expect(page.items, 'a page with another behind it').to.have.length(limit);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return items;
}
