import { GENERATION_ROUTES } from './generations.js';
import { MODEL_AND_CREDIT_ROUTES } from './models-and-credits.js';
import type { Route } from './operation.js';
import { UPLOAD_ROUTES } from './uploads.js';
import { WEBHOOK_ROUTES } from './webhooks.js';

/** Every endpoint of the API, by its path under `BASE`, with its scope and the rate that its requests count against. */
export const ROUTES: readonly Route[] = [
  ...MODEL_AND_CREDIT_ROUTES,
  ...GENERATION_ROUTES,
  ...UPLOAD_ROUTES,
  ...WEBHOOK_ROUTES,
];
