import { createEndpoint } from '../../../../core/webhooks/manage-endpoints.js';
import { CREATE_WEBHOOK_SCHEMA } from '../../../../core/webhooks/request.js';
import { CREATED_WEBHOOK_SCHEMA, renderSecret, renderWebhook } from '../../render/webhook.js';
import type { ProtectedOperation } from '../operation.js';

export const createWebhookOperation: ProtectedOperation = {
  operationId: 'createWebhook',
  summary: 'Create a webhook',
  description: "Its address is told of the events of all generations of the credential's App.",
  status: 201,
  data: CREATED_WEBHOOK_SCHEMA,
  body: {
    schema: CREATE_WEBHOOK_SCHEMA,
    schemaName: 'CreateWebhookRequest',
    required: true,
    example: { url: 'https://app.example/webhooks/darkroom', events: ['generation.succeeded', 'generation.failed'] },
  },
  errors: ['FIELD_REQUIRED', 'FIELD_INVALID', 'CONFLICT'],
  hasLocation: true,
  async answer({ context, caller, body }) {
    const { endpoint, ...secret } = await createEndpoint(context, caller, body);
    const now = context.clock.now();
    return {
      data: { ...renderWebhook(endpoint, now), ...renderSecret(secret, now) },
      headers: { Location: `/api/v1/developer/webhooks/${endpoint.endpointId}` },
    };
  },
};
