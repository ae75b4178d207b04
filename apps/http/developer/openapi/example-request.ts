import type { JsonObject } from '../../../../core/json.js';

/** A first request that works unchanged, with the catalog that comes with the program. */
export const EXAMPLE_REQUEST = {
  model_key: 'sandbox-image',
  operation: 'image_generation',
  prompt: 'a lighthouse at dusk',
} as const satisfies JsonObject;

/** A time in what filters and ranges ask for. */
export const EXAMPLE_TIME = '2026-01-31T12:00:00Z';

/** A PNG of 64 by 64 pixels of one colour. */
export const EXAMPLE_UPLOAD = {
  filename: 'sea.png',
  media_type: 'image/png',
  byte_size: 120,
  sha256: '4c4b90ec1faf1a61fa582f50609311f40dd42dda0ea64ff6651832399b1ab0e5',
  role: 'reference_image',
} as const satisfies JsonObject;
