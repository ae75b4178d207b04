import { getEndpoint } from '../../../../core/webhooks/manage-endpoints.js';
import { renderWebhook, WEBHOOK_SCHEMA } from '../../render/webhook.js';
import type { ProtectedOperation } from '../operation.js';

export const getWebhookOperation: ProtectedOperation = {
  operationId: 'getWebhook',
  summary: 'Get a webhook',
  status: 200,
  data: WEBHOOK_SCHEMA,
  errors: ['NOT_FOUND'],
  async answer({ context, caller, params }) {
    const endpoint = await getEndpoint(context, caller, params['webhook_id'] ?? '');
    return { data: renderWebhook(endpoint, context.clock.now()) };
  },
};
