import { updateEndpoint } from '../../../../core/webhooks/manage-endpoints.js';
import { UPDATE_WEBHOOK_SCHEMA } from '../../../../core/webhooks/request.js';
import { renderWebhook, WEBHOOK_SCHEMA } from '../../render/webhook.js';
import type { ProtectedOperation } from '../operation.js';

export const updateWebhookOperation: ProtectedOperation = {
  operationId: 'updateWebhook',
  summary: 'Change a webhook',
  description:
    'What the request does not name stays as it is. What a disabled webhook was not told is not sent when it is enabled again: replay it.',
  status: 200,
  data: WEBHOOK_SCHEMA,
  body: {
    schema: UPDATE_WEBHOOK_SCHEMA,
    schemaName: 'UpdateWebhookRequest',
    required: true,
    example: { enabled: false },
  },
  errors: ['FIELD_INVALID', 'NOT_FOUND', 'CONFLICT'],
  async answer({ context, caller, params, body }) {
    const endpoint = await updateEndpoint(context, caller, params['webhook_id'] ?? '', body);
    return { data: renderWebhook(endpoint, context.clock.now()) };
  },
};
