import { secretText } from '../../../adapters/webhooks/signature.js';
import { ServiceError } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import { listDeliveries, replayDeliveries, replayDelivery } from '../../../core/webhooks/deliveries.js';
import { previousValidUntil } from '../../../core/webhooks/endpoint.js';
import {
  createEndpoint,
  deleteEndpoint,
  getEndpoint,
  listEndpoints,
  rotateSecret,
  updateEndpoint,
} from '../../../core/webhooks/manage-endpoints.js';
import { readDeliveryState } from '../../../core/webhooks/request.js';
import { cursorOf, pageByToken, tokenOf } from '../../requests/page-token.js';
import {
  Webhooks,
  type CreateWebhookRequest,
  type ListWebhookDeliveriesRequest,
  type ReplayWebhookDeliveriesRequest,
  type UpdateWebhookRequest,
} from '../generated/darkroom/v1/webhooks_pb.js';
import { acting } from '../method.js';
import { readPage } from '../pages.js';
import { readTimestamp } from '../read-timestamp.js';
import { wordOf } from '../render/enums.js';
import { timestamp } from '../render/times.js';
import { DELIVERY_STATE, renderDelivery, renderWebhook, WEBHOOK_EVENT } from '../render/webhooks.js';

const { method } = Webhooks;
const scope = 'webhooks:manage';

export const WEBHOOK_METHODS = [
  acting(method.createWebhook, {
    scope,
    async answer({ context, caller, request }) {
      const { endpoint, key } = await createEndpoint(context, caller, bodyOf(request));
      return { webhook: renderWebhook(endpoint, context.clock.now()), secret: secretText(key) };
    },
  }),
  acting(method.listWebhooks, {
    scope,
    async answer({ context, caller }) {
      const endpoints = await listEndpoints(context, caller);
      const now = context.clock.now();
      return { webhooks: endpoints.map((endpoint) => renderWebhook(endpoint, now)) };
    },
  }),
  acting(method.getWebhook, {
    scope,
    answer: async ({ context, caller, request }) => ({
      webhook: renderWebhook(await getEndpoint(context, caller, request.webhookId), context.clock.now()),
    }),
  }),
  acting(method.updateWebhook, {
    scope,
    async answer({ context, caller, request }) {
      const { enabled } = request;
      const change = { ...bodyOf(request), ...(enabled === undefined ? {} : { enabled }) };
      const endpoint = await updateEndpoint(context, caller, request.webhookId, change);
      return { webhook: renderWebhook(endpoint, context.clock.now()) };
    },
  }),
  acting(method.deleteWebhook, {
    scope,
    async answer({ context, caller, request }) {
      await deleteEndpoint(context, caller, request.webhookId);
      return { webhookId: request.webhookId.toLowerCase() };
    },
  }),
  acting(method.rotateWebhookSecret, {
    scope,
    async answer({ context, caller, request }) {
      const { secret, key } = await rotateSecret(context, caller, request.webhookId);
      const until = previousValidUntil(secret, context.clock.now());
      return {
        secret: secretText(key),
        ...(until === undefined ? {} : { previousSecretExpireTime: timestamp(until) }),
      };
    },
  }),
  acting(method.listWebhookDeliveries, {
    scope,
    async answer({ context, caller, request }) {
      const id = request.webhookId;
      const filter = filterOf(request);
      const list = `deliveries of ${caller.appId} ${id.toLowerCase()} ${JSON.stringify(filter)}`;
      const { items, nextCursor } = await pageByToken(readPage(request), list, (page) =>
        listDeliveries(context, caller, id, filter, page),
      );
      return { deliveries: items.map(renderDelivery), nextPageToken: nextCursor ?? '' };
    },
  }),
  acting(method.replayWebhookDelivery, {
    scope,
    answer: async ({ context, caller, request }) => ({
      delivery: renderDelivery(await replayDelivery(context, caller, request.webhookId, request.deliveryId)),
    }),
  }),
  acting(method.replayWebhookDeliveries, {
    scope,
    async answer({ context, caller, request }) {
      const { webhookId: id, pageToken } = request;
      if (request.createdAfter === undefined)
        throw new ServiceError('FIELD_REQUIRED', 'created_after is required.', { pointer: '/created_after' });
      const filter = filterOf(request);
      const list = `replay of ${caller.appId} ${id.toLowerCase()} ${JSON.stringify(filter)}`;
      const { cursor } = cursorOf({ limit: 1, ...(pageToken === '' ? {} : { cursor: pageToken }) }, list);
      const { replayed, nextCursor } = await replayDeliveries(context, caller, id, filter, cursor);
      return { replayed, nextPageToken: tokenOf(list, nextCursor) ?? '' };
    },
  }),
] as const;

/** The body that the use case takes, the same as over REST. */
function bodyOf({ url, events, description }: CreateWebhookRequest | UpdateWebhookRequest): JsonObject {
  return {
    ...(url === undefined ? {} : { url }),
    ...(events.length === 0 ? {} : { events: events.map((event) => wordOf(WEBHOOK_EVENT, event) ?? '') }),
    ...(description === undefined ? {} : { description }),
  };
}

function filterOf({
  state,
  createdAfter,
  createdBefore,
}: ListWebhookDeliveriesRequest | ReplayWebhookDeliveriesRequest) {
  return {
    state: readDeliveryState(wordOf(DELIVERY_STATE, state)),
    createdFrom: createdAfter && readTimestamp(createdAfter, 'created_after'),
    createdBefore: createdBefore && readTimestamp(createdBefore, 'created_before'),
  };
}
