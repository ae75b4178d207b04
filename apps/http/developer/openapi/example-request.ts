import type { JsonObject } from '../../../../core/json.js';

/** A first request that works unchanged, with the catalog that comes with the program. */
export const EXAMPLE_REQUEST = {
  model_key: 'sandbox-image',
  operation: 'image_generation',
  prompt: 'a lighthouse at dusk',
} as const satisfies JsonObject;
