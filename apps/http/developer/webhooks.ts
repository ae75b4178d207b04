import type { Call, Machine, Webhooks, Work } from '../../../core/context.js';
import { readBody } from '../../../core/fields.js';
import type { JsonObject } from '../../../core/json.js';
import {
  listDeliveries,
  readDeliveryFilter,
  replayDeliveries,
  replayDelivery,
} from '../../../core/webhooks/deliveries.js';
import { DELIVERY_STATES } from '../../../core/webhooks/delivery.js';
import { SENT_EVENTS } from '../../../core/webhooks/endpoint.js';
import {
  CREATE_WEBHOOK_SCHEMA,
  createEndpoint,
  deleteEndpoint,
  getEndpoint,
  listEndpoints,
  rotateSecret,
  UPDATE_WEBHOOK_SCHEMA,
  updateEndpoint,
} from '../../../core/webhooks/manage-endpoints.js';
import { sendTest } from '../../../core/webhooks/test-event.js';
import { cursorOf, pageByToken, tokenOf } from '../../page-token.js';
import { readTime } from '../host/request.js';
import { NEXT_CURSOR, record } from '../render/schema-parts.js';
import {
  CREATED_WEBHOOK_SCHEMA,
  DELIVERY_SCHEMA,
  renderDelivery,
  renderSecret,
  renderWebhook,
  WEBHOOK_SCHEMA,
  WEBHOOK_SECRET_SCHEMA,
} from '../render/webhook.js';
import {
  CREATED_BETWEEN,
  EXAMPLE_TIME,
  PAGE_PARAMETERS,
  type QueryParameters,
  read,
  readCreatedBetween,
  readJson,
  readPage,
  removedSchema,
  type Route,
  write,
} from './operation.js';

const DELIVERY_PARAMETERS: QueryParameters = {
  ...PAGE_PARAMETERS,
  state: {
    type: 'string',
    enum: [...DELIVERY_STATES],
    example: 'exhausted',
    description: 'Those that are in this state now.',
  },
  event: {
    type: 'string',
    enum: [...SENT_EVENTS],
    example: 'generation.failed',
    description: 'Those that tell this event now.',
  },
  generation_id: {
    type: 'string',
    format: 'uuid',
    example: '0198c0de-0000-7000-8000-000000000000',
    description: 'Those of this generation.',
  },
  ...CREATED_BETWEEN,
};

const REPLAY_REQUEST_SCHEMA = {
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

/** Webhooks of an App and their deliveries. */
export const WEBHOOK_ROUTES: readonly Route<Work & Webhooks & Machine & Call>[] = [
  write('POST', '/webhooks', 'webhooks:manage', {
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
    responseHeaders: ['Location'],
    async answer({ context, caller }, ctx) {
      const { endpoint, ...secret } = await createEndpoint(context, caller, await readJson(ctx));
      return {
        data: { ...renderWebhook(endpoint, context), ...renderSecret(secret, context.clock.now()) },
        headers: { Location: `${ctx.state.api.basePath}/webhooks/${endpoint.endpointId}` },
      };
    },
  }),
  read('GET', '/webhooks', 'webhooks:manage', {
    operationId: 'listWebhooks',
    summary: 'List webhooks',
    description: "Those of the credential's App, at most ten, in the order of their creation.",
    status: 200,
    data: record('WebhookList', { webhooks: { type: 'array', items: WEBHOOK_SCHEMA } }),
    errors: [],
    async answer({ context, caller }) {
      const endpoints = await listEndpoints(context, caller);
      return { data: { webhooks: endpoints.map((endpoint) => renderWebhook(endpoint, context)) } };
    },
  }),
  read('GET', '/webhooks/:webhook_id', 'webhooks:manage', {
    operationId: 'getWebhook',
    summary: 'Get a webhook',
    status: 200,
    data: WEBHOOK_SCHEMA,
    errors: ['NOT_FOUND'],
    async answer({ context, caller }, ctx) {
      const endpoint = await getEndpoint(context, caller, ctx.params.webhook_id);
      return { data: renderWebhook(endpoint, context) };
    },
  }),
  write('PATCH', '/webhooks/:webhook_id', 'webhooks:manage', {
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
    async answer({ context, caller }, ctx) {
      const endpoint = await updateEndpoint(context, caller, ctx.params.webhook_id, await readJson(ctx));
      return { data: renderWebhook(endpoint, context) };
    },
  }),
  write('DELETE', '/webhooks/:webhook_id', 'webhooks:manage', {
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    description: 'Nothing more is sent to it, and its log of deliveries can no longer be read.',
    status: 200,
    data: removedSchema('DeletedWebhook', 'webhook_id'),
    errors: ['NOT_FOUND'],
    async answer({ context, caller }, ctx) {
      const id = ctx.params.webhook_id;
      await deleteEndpoint(context, caller, id);
      return { data: { webhook_id: id.toLowerCase() } };
    },
  }),
  write('POST', '/webhooks/:webhook_id/secret', 'webhooks:manage', {
    operationId: 'rotateWebhookSecret',
    summary: "Give a webhook a new secret, or make the App's default one",
    description:
      'Messages are signed by the secret before it too for a day more. `default` in place of the id names the secret that signs messages to the address of a single generation, which its Darkroom-Webhook-Url gave.',
    status: 201,
    data: WEBHOOK_SECRET_SCHEMA,
    errors: ['NOT_FOUND'],
    async answer({ context, caller }, ctx) {
      const secret = await rotateSecret(context, caller, ctx.params.webhook_id);
      return { data: renderSecret(secret, context.clock.now()) };
    },
  }),
  write('POST', '/webhooks/:webhook_id/test', 'webhooks:manage', {
    operationId: 'testWebhook',
    summary: 'Send a test message to a webhook',
    description:
      'The message has the type generation.test and an example of a generation that does not exist. It is signed as every message and tried once, also while the webhook is disabled, without consequences for it. At most ten a minute and a hundred a day.',
    status: 202,
    data: DELIVERY_SCHEMA,
    errors: ['NOT_FOUND'],
    async answer({ context, caller }, ctx) {
      return { data: renderDelivery(await sendTest(context, caller, ctx.params.webhook_id)) };
    },
  }),
  read('GET', '/webhooks/:webhook_id/deliveries', 'webhooks:manage', {
    operationId: 'listWebhookDeliveries',
    summary: 'List deliveries of a webhook',
    description:
      'One for each generation, newest first, kept for 30 days after its last change. `default` in place of the id names the addresses of single generations. A page with a filter by state or event may hold fewer than asked for, or none, although there are more: only the absence of `next_cursor` says that it was the last.',
    status: 200,
    query: DELIVERY_PARAMETERS,
    data: record(
      'WebhookDeliveryList',
      { deliveries: { type: 'array', items: DELIVERY_SCHEMA }, next_cursor: NEXT_CURSOR },
      ['next_cursor'],
    ),
    errors: ['FIELD_INVALID', 'NOT_FOUND'],
    async answer({ context, caller, query }, ctx) {
      const id = ctx.params.webhook_id;
      const filter = { ...readDeliveryFilter(query), ...readCreatedBetween(query) };
      const { items, nextCursor } = await pageByToken(
        readPage(query),
        `deliveries of ${caller.appId} ${id.toLowerCase()} ${JSON.stringify(filter)}`,
        (page) => listDeliveries(context, caller, id, filter, page),
        'cursor',
      );
      return { data: { deliveries: items.map(renderDelivery), next_cursor: nextCursor } };
    },
  }),
  write('POST', '/webhooks/:webhook_id/deliveries/:delivery_id/replay', 'webhooks:manage', {
    operationId: 'replayWebhookDelivery',
    summary: 'Send a delivery again',
    description:
      'At once, under the same webhook-id and with as many attempts as a new one. The message has the generation as it is now.',
    status: 202,
    data: DELIVERY_SCHEMA,
    errors: ['NOT_FOUND', 'CONFLICT'],
    async answer({ context, caller }, ctx) {
      const delivery = await replayDelivery(context, caller, ctx.params.webhook_id, ctx.params.delivery_id);
      return { data: renderDelivery(delivery) };
    },
  }),
  write('POST', '/webhooks/:webhook_id/replay', 'webhooks:manage', {
    operationId: 'replayWebhookDeliveries',
    summary: 'Resend deliveries of a period',
    description:
      'Examines up to a hundred, newest first; while there is a `next_cursor`, there are more: send the same request with it. What was cancelled stays so.',
    status: 202,
    data: record(
      'ReplayedWebhookDeliveries',
      {
        replayed: { type: 'integer', minimum: 0, description: 'How many are sent again.' },
        next_cursor: NEXT_CURSOR,
      },
      ['next_cursor'],
    ),
    body: {
      schema: REPLAY_REQUEST_SCHEMA,
      schemaName: 'ReplayWebhookDeliveriesRequest',
      required: true,
      limited: documentedReplaySchema,
      example: { created_after: EXAMPLE_TIME },
    },
    errors: ['FIELD_REQUIRED', 'FIELD_INVALID', 'NOT_FOUND', 'CONFLICT'],
    async answer({ context, caller }, ctx) {
      const id = ctx.params.webhook_id;
      const sent = await readJson(ctx);
      const { cursor, ...range }: ReplayRequest = readBody<ReplayRequest>(context, REPLAY_REQUEST_SCHEMA, sent);
      const filter = {
        ...readDeliveryFilter(range),
        createdFrom: readTime(range, 'created_after'),
        createdBefore: readTime(range, 'created_before'),
      };
      const list = `replay of ${caller.appId} ${id.toLowerCase()} ${JSON.stringify(filter)}`;
      const from = cursorOf({ limit: 1, ...(cursor === undefined ? {} : { cursor }) }, list, 'cursor').cursor;
      const { replayed, nextCursor } = await replayDeliveries(context, caller, id, filter, from);
      return { data: { replayed, next_cursor: tokenOf(list, nextCursor) } };
    },
  }),
];

/** The schema for the document: times are read after the shape is checked. */
function documentedReplaySchema(): JsonObject {
  const { properties } = REPLAY_REQUEST_SCHEMA;
  const { created_after: after, created_before: before } = properties;
  const format = 'date-time';
  return {
    ...REPLAY_REQUEST_SCHEMA,
    properties: { ...properties, created_after: { ...after, format }, created_before: { ...before, format } },
  };
}

type ReplayRequest = Partial<Record<keyof (typeof REPLAY_REQUEST_SCHEMA)['properties'], string>>;
