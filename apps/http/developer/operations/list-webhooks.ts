import { listEndpoints } from '../../../../core/webhooks/manage-endpoints.js';
import { renderWebhook, WEBHOOK_SCHEMA } from '../../render/webhook.js';
import type { ProtectedOperation } from '../operation.js';

export const listWebhooksOperation: ProtectedOperation = {
  operationId: 'listWebhooks',
  summary: 'List webhooks',
  description: "Those of the credential's App, at most ten, in the order of their creation.",
  status: 200,
  data: {
    title: 'WebhookList',
    type: 'object',
    required: ['webhooks'],
    properties: { webhooks: { type: 'array', items: WEBHOOK_SCHEMA } },
  },
  errors: [],
  async answer({ context, caller }) {
    const endpoints = await listEndpoints(context, caller);
    const now = context.clock.now();
    return { data: { webhooks: endpoints.map((endpoint) => renderWebhook(endpoint, now)) } };
  },
};
