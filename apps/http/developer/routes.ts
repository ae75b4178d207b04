import type { Route } from './operation.js';
import { cancelGenerationOperation } from './operations/cancel-generation.js';
import { completeUploadOperation } from './operations/complete-upload.js';
import { createGenerationOperation } from './operations/create-generation.js';
import { createWebhookOperation } from './operations/create-webhook.js';
import { deleteGenerationOperation } from './operations/delete-generation.js';
import { deleteUploadOperation } from './operations/delete-upload.js';
import { deleteWebhookOperation } from './operations/delete-webhook.js';
import { estimateGenerationOperation } from './operations/estimate-generation.js';
import { getCreditsOperation } from './operations/get-credits.js';
import { getGenerationOperation } from './operations/get-generation.js';
import { getModelOperation } from './operations/get-model.js';
import { getUploadOperation } from './operations/get-upload.js';
import { getWebhookOperation } from './operations/get-webhook.js';
import { listDeliveriesOperation } from './operations/list-deliveries.js';
import { getUsageOperation } from './operations/get-usage.js';
import { listEntriesOperation } from './operations/list-entries.js';
import { listGenerationsOperation } from './operations/list-generations.js';
import { listModelsOperation } from './operations/list-models.js';
import { listWebhooksOperation } from './operations/list-webhooks.js';
import { prepareUploadOperation } from './operations/prepare-upload.js';
import { replayDeliveriesOperation } from './operations/replay-deliveries.js';
import { replayDeliveryOperation } from './operations/replay-delivery.js';
import { rotateWebhookSecretOperation } from './operations/rotate-webhook-secret.js';
import { updateWebhookOperation } from './operations/update-webhook.js';
import { watchEventsOperation } from './operations/watch-events.js';
import { watchGenerationOperation } from './operations/watch-generation.js';

/** The base path of every endpoint of the interface. */
export const BASE = '/api/v1/developer';

/** Every endpoint of the interface, by its path under `BASE`: what it is, who may call it and what it needs. */
export const ROUTES: readonly Route[] = [
  { method: 'GET', path: '/models', operation: listModelsOperation },
  { method: 'GET', path: '/models/:model_key', operation: getModelOperation },
  { method: 'GET', path: '/credits', operation: getCreditsOperation, scope: 'credits:read', rate: 'reads' },
  {
    method: 'GET',
    path: '/credits/entries',
    operation: listEntriesOperation,
    scope: 'credits:read',
    rate: 'reads',
  },
  { method: 'GET', path: '/usage', operation: getUsageOperation, scope: 'credits:read', rate: 'reads' },
  {
    method: 'POST',
    path: '/generations',
    operation: createGenerationOperation,
    scope: 'generations:write',
    rate: 'writes',
    needsKey: true,
  },
  {
    method: 'POST',
    path: '/generations/estimate',
    operation: estimateGenerationOperation,
    scope: 'generations:write',
    rate: 'reads',
  },
  {
    method: 'GET',
    path: '/generations',
    operation: listGenerationsOperation,
    scope: 'generations:read',
    rate: 'reads',
  },
  {
    method: 'GET',
    path: '/generations/:generation_id',
    operation: getGenerationOperation,
    scope: 'generations:read',
    rate: 'reads',
  },
  {
    method: 'DELETE',
    path: '/generations/:generation_id',
    operation: deleteGenerationOperation,
    scope: 'generations:write',
    rate: 'writes',
  },
  {
    method: 'GET',
    path: '/generations/:generation_id/events',
    operation: watchGenerationOperation,
    scope: 'generations:read',
    rate: 'reads',
  },
  { method: 'GET', path: '/events', operation: watchEventsOperation, scope: 'generations:read', rate: 'reads' },
  {
    method: 'POST',
    path: '/generations/:generation_id/cancel',
    operation: cancelGenerationOperation,
    scope: 'generations:write',
    rate: 'writes',
  },
  {
    method: 'POST',
    path: '/uploads',
    operation: prepareUploadOperation,
    scope: 'uploads:write',
    rate: 'writes',
    needsKey: true,
  },
  {
    method: 'GET',
    path: '/uploads/:upload_id',
    operation: getUploadOperation,
    scope: 'uploads:write',
    rate: 'reads',
  },
  {
    method: 'DELETE',
    path: '/uploads/:upload_id',
    operation: deleteUploadOperation,
    scope: 'uploads:write',
    rate: 'writes',
  },
  {
    method: 'POST',
    path: '/uploads/:upload_id/complete',
    operation: completeUploadOperation,
    scope: 'uploads:write',
    rate: 'writes',
    needsKey: true,
  },
  {
    method: 'POST',
    path: '/webhooks',
    operation: createWebhookOperation,
    scope: 'webhooks:manage',
    rate: 'writes',
  },
  {
    method: 'GET',
    path: '/webhooks',
    operation: listWebhooksOperation,
    scope: 'webhooks:manage',
    rate: 'reads',
  },
  {
    method: 'GET',
    path: '/webhooks/:webhook_id',
    operation: getWebhookOperation,
    scope: 'webhooks:manage',
    rate: 'reads',
  },
  {
    method: 'PATCH',
    path: '/webhooks/:webhook_id',
    operation: updateWebhookOperation,
    scope: 'webhooks:manage',
    rate: 'writes',
  },
  {
    method: 'DELETE',
    path: '/webhooks/:webhook_id',
    operation: deleteWebhookOperation,
    scope: 'webhooks:manage',
    rate: 'writes',
  },
  {
    method: 'POST',
    path: '/webhooks/:webhook_id/secret',
    operation: rotateWebhookSecretOperation,
    scope: 'webhooks:manage',
    rate: 'writes',
  },
  {
    method: 'GET',
    path: '/webhooks/:webhook_id/deliveries',
    operation: listDeliveriesOperation,
    scope: 'webhooks:manage',
    rate: 'reads',
  },
  {
    method: 'POST',
    path: '/webhooks/:webhook_id/deliveries/:delivery_id/replay',
    operation: replayDeliveryOperation,
    scope: 'webhooks:manage',
    rate: 'writes',
  },
  {
    method: 'POST',
    path: '/webhooks/:webhook_id/replay',
    operation: replayDeliveriesOperation,
    scope: 'webhooks:manage',
    rate: 'writes',
  },
];
