import type { Model } from '../catalog/model.js';

/** The models on offer. A snapshot never changes; a new catalog is a new snapshot. */
export interface Catalog {
  /** All public models in the catalog's order. */
  models(): readonly Model[];
  /** The model with exactly this key, or undefined. */
  find(modelKey: string): Model | undefined;
}
