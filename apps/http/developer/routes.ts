import {
  cancelGenerationOperation,
  createGenerationOperation,
  deleteGenerationOperation,
  estimateGenerationOperation,
  getGenerationOperation,
  listGenerationsOperation,
  watchEventsOperation,
  watchGenerationOperation,
} from './generations.js';
import {
  getCreditsOperation,
  getModelOperation,
  getUsageOperation,
  listEntriesOperation,
  listModelsOperation,
} from './models-and-credits.js';
import type { Scope } from '../../../core/access/credential.js';
import type { ProtectedOperation, ProtectedRoute, PublicOperation, PublicRoute, Route } from './operation.js';
import {
  completeUploadOperation,
  deleteUploadOperation,
  getUploadOperation,
  prepareUploadOperation,
} from './uploads.js';
import {
  createWebhookOperation,
  deleteWebhookOperation,
  getWebhookOperation,
  listDeliveriesOperation,
  listWebhooksOperation,
  replayDeliveriesOperation,
  replayDeliveryOperation,
  rotateWebhookSecretOperation,
  updateWebhookOperation,
} from './webhooks.js';

/** The base path of every endpoint of the API. */
export const BASE = '/api/v1/developer';

/** Every endpoint of the API, by its path under `BASE`, with its scope and the rate that its requests count against. */
export const ROUTES: readonly Route[] = [
  publicRoute('/models', listModelsOperation),
  publicRoute('/models/:model_key', getModelOperation),
  read('GET', '/credits', 'credits:read', getCreditsOperation),
  read('GET', '/credits/entries', 'credits:read', listEntriesOperation),
  read('GET', '/usage', 'credits:read', getUsageOperation),
  write('POST', '/generations', 'generations:write', createGenerationOperation),
  read('POST', '/generations/estimate', 'generations:write', estimateGenerationOperation),
  read('GET', '/generations', 'generations:read', listGenerationsOperation),
  read('GET', '/generations/:generation_id', 'generations:read', getGenerationOperation),
  write('DELETE', '/generations/:generation_id', 'generations:write', deleteGenerationOperation),
  read('GET', '/generations/:generation_id/events', 'generations:read', watchGenerationOperation),
  read('GET', '/events', 'generations:read', watchEventsOperation),
  write('POST', '/generations/:generation_id/cancel', 'generations:write', cancelGenerationOperation),
  write('POST', '/uploads', 'uploads:write', prepareUploadOperation),
  read('GET', '/uploads/:upload_id', 'uploads:write', getUploadOperation),
  write('DELETE', '/uploads/:upload_id', 'uploads:write', deleteUploadOperation),
  write('POST', '/uploads/:upload_id/complete', 'uploads:write', completeUploadOperation),
  write('POST', '/webhooks', 'webhooks:manage', createWebhookOperation),
  read('GET', '/webhooks', 'webhooks:manage', listWebhooksOperation),
  read('GET', '/webhooks/:webhook_id', 'webhooks:manage', getWebhookOperation),
  write('PATCH', '/webhooks/:webhook_id', 'webhooks:manage', updateWebhookOperation),
  write('DELETE', '/webhooks/:webhook_id', 'webhooks:manage', deleteWebhookOperation),
  write('POST', '/webhooks/:webhook_id/secret', 'webhooks:manage', rotateWebhookSecretOperation),
  read('GET', '/webhooks/:webhook_id/deliveries', 'webhooks:manage', listDeliveriesOperation),
  write('POST', '/webhooks/:webhook_id/deliveries/:delivery_id/replay', 'webhooks:manage', replayDeliveryOperation),
  write('POST', '/webhooks/:webhook_id/replay', 'webhooks:manage', replayDeliveriesOperation),
];

function publicRoute(path: string, operation: PublicOperation): PublicRoute {
  return { method: 'GET', path, operation };
}

function read(
  method: ProtectedRoute['method'],
  path: string,
  scope: Scope,
  operation: ProtectedOperation,
): ProtectedRoute {
  return { method, path, scope, operation, rate: 'reads' };
}

function write(
  method: ProtectedRoute['method'],
  path: string,
  scope: Scope,
  operation: ProtectedOperation,
): ProtectedRoute {
  return { method, path, scope, operation, rate: 'writes' };
}
