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

/** Stops a caller that asks for more, or less, than a store answers at once. */
export function checkedLimit(limit: number): number {
  assert(Number.isInteger(limit) && limit >= 1 && limit <= 1000, `a limit is 1 to 1,000, not ${limit}`);
  return limit;
}

/** Makes a page of what was found with one item more than asked for, which tells whether there is a next page. */
export function pageOf<T>(found: readonly T[], request: PageRequest, cursorOf: (item: T) => string): Page<T> {
  const items = found.slice(0, checkedLimit(request.limit));
  const last = items.at(-1);
  return found.length > items.length && last !== undefined ? { items, nextCursor: cursorOf(last) } : { items };
}
