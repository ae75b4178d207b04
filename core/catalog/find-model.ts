import { ServiceError } from '../errors.js';
import type { Catalog } from '../ports/catalog.js';
import type { Model } from './model.js';

/** Longer keys are not compared at all, which bounds the cost of any unknown key. */
const MAX_LENGTH = 64;
const MAX_DISTANCE = 3;
const MAX_NEAR = 3;

/**
 * Up to three of the keys that are spelt like this one, the nearest first; for a refusal, never to choose a model by.
 */
export function nearKeys(key: string, keys: readonly string[]): readonly string[] {
  if (key.length > MAX_LENGTH) return [];
  const wanted = key.toLowerCase();
  const most = Math.min(MAX_DISTANCE, Math.max(1, Math.floor(wanted.length / 3)));
  return keys
    .filter((candidate) => Math.abs(candidate.length - wanted.length) <= most)
    .map((candidate) => ({ candidate, distance: editDistance(wanted, candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= most)
    .toSorted((one, other) => one.distance - other.distance)
    .slice(0, MAX_NEAR)
    .map(({ candidate }) => candidate);
}

/**
 * The second clause of the message that refuses an unknown key: the keys with a similar spelling. Empty if there are
 * none.
 */
export function similarKeys(catalog: Catalog, key: string): string {
  const near = nearKeys(
    key,
    catalog.models().map(({ modelKey }) => modelKey),
  );
  return near.length === 0 ? '' : `; similar keys are ${near.join(', ')}`;
}

/** How many characters must be put in, left out or replaced to make one text of the other (Levenshtein). */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const replaced = (row[j - 1] as number) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}

/** The public model with exactly this key. Throws NOT_FOUND, and names keys that are spelt like it. */
export function getModel({ catalog }: { readonly catalog: Catalog }, modelKey: string): Model {
  const model = catalog.find(modelKey);
  if (model) return model;
  throw new ServiceError('NOT_FOUND', `The catalog has no model with this key${similarKeys(catalog, modelKey)}.`);
}
