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
