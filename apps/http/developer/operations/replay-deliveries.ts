import { readBody } from '../../../../core/fields.js';
import type { JsonObject } from '../../../../core/json.js';
import { replayDeliveries } from '../../../../core/webhooks/deliveries.js';
import { DELIVERY_STATES } from '../../../../core/webhooks/delivery.js';
import { readDeliveryState } from '../../../../core/webhooks/request.js';
import { cursorOf, tokenOf } from '../../../requests/page-token.js';
import { readTime } from '../../host/query-values.js';
import { NEXT_CURSOR } from '../../render/schema-parts.js';
import { EXAMPLE_TIME } from '../openapi/example-request.js';
import type { ProtectedOperation } from '../operation.js';

const REQUEST_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['created_after'],
  properties: {
    created_after: { type: 'string', description: 'RFC 3339: deliveries created at this time or later.' },
    created_before: { type: 'string', description: 'RFC 3339: those created before this time.' },
    state: {
      type: 'string',
      enum: [...DELIVERY_STATES],
      description: 'Those in this state alone; all that were not delivered when absent.',
    },
    cursor: { type: 'string', minLength: 1, maxLength: 2_000, description: 'The `next_cursor` of the answer before.' },
  },
} as const satisfies JsonObject;

/** A time is read after the shape. */
function shownSchema(): JsonObject {
  const { properties } = REQUEST_SCHEMA;
  const { created_after: after, created_before: before } = properties;
  const format = 'date-time';
  return {
    ...REQUEST_SCHEMA,
    properties: { ...properties, created_after: { ...after, format }, created_before: { ...before, format } },
  };
}

type Request = Partial<Record<keyof (typeof REQUEST_SCHEMA)['properties'], string>>;

export const replayDeliveriesOperation: ProtectedOperation = {
  operationId: 'replayWebhookDeliveries',
  summary: 'Send the deliveries of a time again',
  description:
    'Examines up to a hundred, newest first; while there is a `next_cursor`, there are more: send the same request with it. What was cancelled stays so.',
  status: 202,
  data: {
    title: 'ReplayedWebhookDeliveries',
    type: 'object',
    required: ['replayed'],
    properties: {
      replayed: { type: 'integer', minimum: 0, description: 'How many are sent again.' },
      next_cursor: NEXT_CURSOR,
    },
  },
  body: {
    schema: REQUEST_SCHEMA,
    schemaName: 'ReplayWebhookDeliveriesRequest',
    required: true,
    limited: shownSchema,
    example: { created_after: EXAMPLE_TIME },
  },
  errors: ['FIELD_REQUIRED', 'FIELD_INVALID', 'NOT_FOUND', 'CONFLICT'],
  async answer({ context, caller, params, body }) {
    const id = params['webhook_id'] ?? '';
    const { cursor, ...range }: Request = readBody<Request>(context, REQUEST_SCHEMA, body);
    const filter = {
      state: readDeliveryState(range.state),
      createdFrom: readTime(range, 'created_after'),
      createdBefore: readTime(range, 'created_before'),
    };
    const list = `replay of ${caller.appId} ${id.toLowerCase()} ${JSON.stringify(filter)}`;
    const from = cursorOf({ limit: 1, ...(cursor === undefined ? {} : { cursor }) }, list, 'cursor').cursor;
    const { replayed, nextCursor } = await replayDeliveries(context, caller, id, filter, from);
    return { data: { replayed, next_cursor: tokenOf(list, nextCursor) } };
  },
};
