import { deleteEndpoint } from '../../../../core/webhooks/manage-endpoints.js';
import { UUID } from '../../render/schema-parts.js';
import type { ProtectedOperation } from '../operation.js';

export const deleteWebhookOperation: ProtectedOperation = {
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  description: 'Nothing more is sent to it, and its log of deliveries can no longer be read.',
  status: 200,
  data: {
    title: 'DeletedWebhook',
    type: 'object',
    required: ['webhook_id'],
    properties: { webhook_id: UUID },
  },
  errors: ['NOT_FOUND'],
  async answer({ context, caller, params }) {
    const id = params['webhook_id'] ?? '';
    await deleteEndpoint(context, caller, id);
    return { data: { webhook_id: id.toLowerCase() } };
  },
};
