import type { MessageInitShape } from '@bufbuild/protobuf';
import { secretText } from '../../adapters/webhooks/signature.js';
import { ServiceError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { listDeliveries, replayDeliveries, replayDelivery } from '../../core/webhooks/deliveries.js';
import type {
  AttemptFault,
  AttemptResult,
  Delivery,
  DeliveryAttempt,
  DeliveryState,
} from '../../core/webhooks/delivery.js';
import {
  type DisabledBecause,
  previousValidUntil,
  type WebhookEndpoint,
  type WebhookEvent as CoreEvent,
} from '../../core/webhooks/endpoint.js';
import {
  createEndpoint,
  deleteEndpoint,
  getEndpoint,
  listEndpoints,
  readDeliveryState,
  rotateSecret,
  updateEndpoint,
} from '../../core/webhooks/manage-endpoints.js';
import { cursorOf, pageByToken, tokenOf } from '../page-token.js';
import { readTimestamp, timestamp, wordOf } from './enums.js';
import {
  type CreateWebhookRequest,
  type ListWebhookDeliveriesRequest,
  type ReplayWebhookDeliveriesRequest,
  type UpdateWebhookRequest,
  WebhookAttemptFault,
  WebhookAttemptResult,
  type WebhookAttemptSchema,
  type WebhookDeliverySchema,
  WebhookDeliveryState,
  WebhookDisabledReason,
  WebhookEvent,
  Webhooks,
  type WebhookSchema,
} from './generated/darkroom/v1/webhooks_pb.js';
import { acting, readPage } from './method.js';

const WEBHOOK_EVENT: Readonly<Record<CoreEvent, WebhookEvent>> = {
  'generation.running': WebhookEvent.GENERATION_RUNNING,
  'generation.succeeded': WebhookEvent.GENERATION_SUCCEEDED,
  'generation.failed': WebhookEvent.GENERATION_FAILED,
  'generation.cancelled': WebhookEvent.GENERATION_CANCELLED,
};

const DELIVERY_STATE: Readonly<Record<DeliveryState, WebhookDeliveryState>> = {
  pending: WebhookDeliveryState.PENDING,
  retrying: WebhookDeliveryState.RETRYING,
  delivered: WebhookDeliveryState.DELIVERED,
  exhausted: WebhookDeliveryState.EXHAUSTED,
  disabled: WebhookDeliveryState.DISABLED,
  cancelled: WebhookDeliveryState.CANCELLED,
};

const DISABLED: Readonly<Record<DisabledBecause, WebhookDisabledReason>> = {
  client: WebhookDisabledReason.CLIENT,
  gone: WebhookDisabledReason.GONE,
  failing: WebhookDisabledReason.FAILING,
};

const RESULT: Readonly<Record<AttemptResult, WebhookAttemptResult>> = {
  delivered: WebhookAttemptResult.DELIVERED,
  failed: WebhookAttemptResult.FAILED,
  unknown: WebhookAttemptResult.UNKNOWN,
};

const FAULT: Readonly<Record<AttemptFault, WebhookAttemptFault>> = {
  address: WebhookAttemptFault.ADDRESS,
  connection: WebhookAttemptFault.CONNECTION,
  timeout: WebhookAttemptFault.TIMEOUT,
  answer: WebhookAttemptFault.ANSWER,
};

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

export function renderWebhook(endpoint: WebhookEndpoint, now: number): MessageInitShape<typeof WebhookSchema> {
  const { endpointId, url, events, description = '', disabled, failingSince, createdAt, updatedAt } = endpoint;
  const previousUntil = previousValidUntil(endpoint.secret, now);
  return {
    webhookId: endpointId,
    url,
    events: events.map((event) => WEBHOOK_EVENT[event]),
    description,
    ...(disabled === undefined
      ? {}
      : { disabledReason: DISABLED[disabled.because], disableTime: timestamp(disabled.at) }),
    ...(failingSince === undefined ? {} : { failingSinceTime: timestamp(failingSince) }),
    createTime: timestamp(createdAt),
    updateTime: timestamp(updatedAt),
    ...(previousUntil === undefined ? {} : { previousSecretExpireTime: timestamp(previousUntil) }),
  };
}

export function renderDelivery(delivery: Delivery): MessageInitShape<typeof WebhookDeliverySchema> {
  const { deliveryId, generationId, event, state, url = '', attemptsMade, nextAttemptAt, attempts } = delivery;
  return {
    deliveryId,
    generationId,
    event: WEBHOOK_EVENT[event],
    state: DELIVERY_STATE[state],
    url,
    eventTime: timestamp(delivery.occurredAt),
    createTime: timestamp(delivery.createdAt),
    updateTime: timestamp(delivery.updatedAt),
    attemptsMade,
    ...(nextAttemptAt === undefined ? {} : { nextAttemptTime: timestamp(nextAttemptAt) }),
    attempts: attempts.map(renderAttempt),
  };
}

function renderAttempt(attempt: DeliveryAttempt): MessageInitShape<typeof WebhookAttemptSchema> {
  const { event, startedAt, durationMs, result, status = 0, fault } = attempt;
  return {
    event: WEBHOOK_EVENT[event],
    startTime: timestamp(startedAt),
    durationMs: BigInt(durationMs),
    result: RESULT[result],
    httpStatus: status,
    ...(fault === undefined ? {} : { fault: FAULT[fault] }),
  };
}
