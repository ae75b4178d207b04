import type { CreatedPlace } from '../created-cursor.js';
import { compareText, OrderedList } from './ordered-list.js';

/** The list of this name, in descending order. */
export function listNamed<T>(
  lists: Map<string, OrderedList<T>>,
  name: string,
  compare: (a: T, b: T) => number,
): OrderedList<T> {
  let list = lists.get(name);
  if (list === undefined) lists.set(name, (list = new OrderedList((a, b) => compare(b, a))));
  return list;
}

/** Those after the bound in the order of the list; the bound's own place is stepped over. */
export function behind<T>(list: OrderedList<T>, bound: T | undefined, limit: number): T[] {
  if (bound === undefined) return list.slice(0, limit);
  return list.slice(list.firstAfter(bound), limit);
}

export function comparePlaces(a: CreatedPlace, b: CreatedPlace): number {
  return a.createdAt - b.createdAt || compareText(a.id, b.id);
}
