import { ServiceError } from '../errors.js';
import type { Catalog } from '../ports/catalog.js';
import type { Model } from './model.js';
import { similarKeys } from './near-keys.js';

/** The public model with exactly this key. Throws NOT_FOUND, and names keys that are spelt like it. */
export function getModel({ catalog }: { readonly catalog: Catalog }, modelKey: string): Model {
  const model = catalog.find(modelKey);
  if (model) return model;
  throw new ServiceError('NOT_FOUND', `The catalog has no model with this key${similarKeys(catalog, modelKey)}.`);
}
