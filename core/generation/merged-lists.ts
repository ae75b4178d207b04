import type { Generation } from './generation.js';

/** A position in a list that is ordered by creation and then by id, newest first. */
export type Place = Pick<Generation, 'createdAt' | 'generationId'>;

/**
 * Merges lists that are each ordered by creation and then by id, newest first, into one of this order. Reads the first
 * page of every list at once, and another page of a list only when its last item was taken.
 */
export async function* mergedNewest(
  lists: readonly AsyncGenerator<Generation, void>[],
): AsyncGenerator<Generation, void> {
  const heads = await Promise.all(lists.map(nextOf));
  for (;;) {
    const first = heads.reduce<number>((best, head, index) => (isNewer(head, heads[best]) ? index : best), 0);
    const [head, from] = [heads[first], lists[first]];
    if (head === undefined || from === undefined) return;
    yield head;
    heads[first] = await nextOf(from);
  }
}

async function nextOf(list: AsyncGenerator<Generation, void>): Promise<Generation | undefined> {
  const { value } = await list.next();
  return value ?? undefined;
}

/** Whether the first comes before the second in such a list; no place comes after every other. */
export function isNewer(one: Place | undefined, other: Place | undefined): boolean {
  if (one === undefined || other === undefined) return one !== undefined;
  if (one.createdAt !== other.createdAt) return one.createdAt > other.createdAt;
  return one.generationId > other.generationId;
}
