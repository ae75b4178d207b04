import { listDeliveries } from '../../../../core/webhooks/deliveries.js';
import { DELIVERY_STATES } from '../../../../core/webhooks/delivery.js';
import { readDeliveryState } from '../../../../core/webhooks/request.js';
import { pageByToken } from '../../../requests/page-token.js';
import { NEXT_CURSOR } from '../../render/schema-parts.js';
import { DELIVERY_SCHEMA, renderDelivery } from '../../render/webhook.js';
import { CREATED_BETWEEN, readCreatedBetween } from '../created-between.js';
import type { ProtectedOperation } from '../operation.js';
import { CURSOR, LIMIT, readPage } from '../paging.js';

export const listDeliveriesOperation: ProtectedOperation = {
  operationId: 'listWebhookDeliveries',
  summary: 'List what a webhook was told',
  description:
    'One for each generation, newest first, kept for 30 days after its last change. `default` in place of the id names the addresses of single generations. A page with a filter by state may hold fewer than asked for, or none, although there are more: only the absence of `next_cursor` says that it was the last.',
  status: 200,
  query: {
    limit: LIMIT,
    cursor: CURSOR,
    state: {
      type: 'string',
      enum: [...DELIVERY_STATES],
      example: 'exhausted',
      description: 'Those that are in this state now.',
    },
    ...CREATED_BETWEEN,
  },
  data: {
    title: 'WebhookDeliveryList',
    type: 'object',
    required: ['deliveries'],
    properties: { deliveries: { type: 'array', items: DELIVERY_SCHEMA }, next_cursor: NEXT_CURSOR },
  },
  errors: ['FIELD_INVALID', 'NOT_FOUND'],
  async answer({ context, caller, params, query }) {
    const id = params['webhook_id'] ?? '';
    const filter = {
      state: readDeliveryState(query['state']),
      ...readCreatedBetween(query),
    };
    const { items, nextCursor } = await pageByToken(
      readPage(query),
      `deliveries of ${caller.appId} ${id.toLowerCase()} ${JSON.stringify(filter)}`,
      (page) => listDeliveries(context, caller, id, filter, page),
      'cursor',
    );
    return { data: { deliveries: items.map(renderDelivery), next_cursor: nextCursor } };
  },
};
