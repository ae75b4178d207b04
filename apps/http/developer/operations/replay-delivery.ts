import { replayDelivery } from '../../../../core/webhooks/deliveries.js';
import { DELIVERY_SCHEMA, renderDelivery } from '../../render/webhook.js';
import type { ProtectedOperation } from '../operation.js';

export const replayDeliveryOperation: ProtectedOperation = {
  operationId: 'replayWebhookDelivery',
  summary: 'Send a delivery again',
  description:
    'At once, under the same webhook-id and with as many attempts as a new one. The message has the generation as it is now.',
  status: 202,
  data: DELIVERY_SCHEMA,
  errors: ['NOT_FOUND', 'CONFLICT'],
  async answer({ context, caller, params }) {
    const { webhook_id: id = '', delivery_id: deliveryId = '' } = params;
    return { data: renderDelivery(await replayDelivery(context, caller, id, deliveryId)) };
  },
};
