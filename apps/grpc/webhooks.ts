import type { MessageInitShape } from '@bufbuild/protobuf';
import { secretText } from '../../adapters/webhooks/signature.js';
import { secretHint } from '../../core/access/credential.js';
import type { Call, Machine, Webhooks, Work } from '../../core/context.js';
import { ServiceError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import {
  listDeliveries,
  readDeliveryFilter,
  replayDeliveries,
  replayDelivery,
} from '../../core/webhooks/deliveries.js';
import {
  ATTEMPT_FAULTS,
  ATTEMPT_RESULTS,
  type Delivery,
  DELIVERY_STATES,
  type DeliveryAttempt,
} from '../../core/webhooks/delivery.js';
import {
  DISABLED_BECAUSE,
  previousValidUntil,
  signingKey,
  SENT_EVENTS,
  type WebhookEndpoint,
} from '../../core/webhooks/endpoint.js';
import {
  createEndpoint,
  deleteEndpoint,
  getEndpoint,
  listEndpoints,
  rotateSecret,
  updateEndpoint,
} from '../../core/webhooks/manage-endpoints.js';
import { sendTest } from '../../core/webhooks/test-event.js';
import { cursorOf, pageByToken, tokenOf } from '../page-token.js';
import { readTimestamp, timestamp, valuesByWord, wordOf } from './enums.js';
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
  Webhooks as Service,
  type WebhookSchema,
} from './generated/darkroom/v1/webhooks_pb.js';
import { acting, readPage, type ServedMethod } from './method.js';

const EVENT = valuesByWord(SENT_EVENTS, WebhookEvent);
const DELIVERY_STATE = valuesByWord(DELIVERY_STATES, WebhookDeliveryState);
const DISABLED = valuesByWord(DISABLED_BECAUSE, WebhookDisabledReason);
const RESULT = valuesByWord(ATTEMPT_RESULTS, WebhookAttemptResult);
const FAULT = valuesByWord(ATTEMPT_FAULTS, WebhookAttemptFault);

const { method } = Service;
const scope = 'webhooks:manage';

export const WEBHOOK_METHODS: readonly ServedMethod<Work & Webhooks & Machine & Call>[] = [
  acting(method.createWebhook, scope, async ({ context, caller, request }) => {
    const { endpoint, key } = await createEndpoint(context, caller, bodyOf(request));
    return { webhook: renderWebhook(endpoint, context), secret: secretText(key) };
  }),
  acting(method.listWebhooks, scope, async ({ context, caller }) => {
    const endpoints = await listEndpoints(context, caller);
    return { webhooks: endpoints.map((endpoint) => renderWebhook(endpoint, context)) };
  }),
  acting(method.getWebhook, scope, async ({ context, caller, request }) => ({
    webhook: renderWebhook(await getEndpoint(context, caller, request.webhookId), context),
  })),
  acting(method.updateWebhook, scope, async ({ context, caller, request }) => {
    const { enabled } = request;
    const change = { ...bodyOf(request), ...(enabled === undefined ? {} : { enabled }) };
    const endpoint = await updateEndpoint(context, caller, request.webhookId, change);
    return { webhook: renderWebhook(endpoint, context) };
  }),
  acting(method.deleteWebhook, scope, async ({ context, caller, request }) => {
    await deleteEndpoint(context, caller, request.webhookId);
    return { webhookId: request.webhookId.toLowerCase() };
  }),
  acting(method.rotateWebhookSecret, scope, async ({ context, caller, request }) => {
    const { secret, key } = await rotateSecret(context, caller, request.webhookId);
    const until = previousValidUntil(secret, context.clock.now());
    return {
      secret: secretText(key),
      previousSecretExpireTime: timestamp(until),
    };
  }),
  acting(method.testWebhook, scope, async ({ context, caller, request }) => ({
    delivery: renderDelivery(await sendTest(context, caller, request.webhookId)),
  })),
  acting(method.listWebhookDeliveries, scope, async ({ context, caller, request }) => {
    const id = request.webhookId;
    const filter = filterOf(request);
    const list = `deliveries of ${caller.appId} ${id.toLowerCase()} ${JSON.stringify(filter)}`;
    const { items, nextCursor } = await pageByToken(readPage(request), list, (page) =>
      listDeliveries(context, caller, id, filter, page),
    );
    return { deliveries: items.map(renderDelivery), nextPageToken: nextCursor ?? '' };
  }),
  acting(method.replayWebhookDelivery, scope, async ({ context, caller, request }) => ({
    delivery: renderDelivery(await replayDelivery(context, caller, request.webhookId, request.deliveryId)),
  })),
  acting(method.replayWebhookDeliveries, scope, async ({ context, caller, request }) => {
    const { webhookId: id, pageToken } = request;
    if (request.createdAfter === undefined)
      throw new ServiceError('FIELD_REQUIRED', 'created_after is required.', { pointer: '/created_after' });
    const filter = filterOf(request);
    const list = `replay of ${caller.appId} ${id.toLowerCase()} ${JSON.stringify(filter)}`;
    const { cursor } = cursorOf({ limit: 1, ...(pageToken === '' ? {} : { cursor: pageToken }) }, list);
    const { replayed, nextCursor } = await replayDeliveries(context, caller, id, filter, cursor);
    return { replayed, nextPageToken: tokenOf(list, nextCursor) ?? '' };
  }),
];

/** The body that the use case takes, the same as over REST. */
function bodyOf({ url, events, description }: CreateWebhookRequest | UpdateWebhookRequest): JsonObject {
  return {
    ...(url === undefined ? {} : { url }),
    ...(events.length === 0 ? {} : { events: events.map((event) => wordOf(EVENT, event) ?? '') }),
    ...(description === undefined ? {} : { description }),
  };
}

function filterOf(request: ListWebhookDeliveriesRequest | ReplayWebhookDeliveriesRequest) {
  const { state, createdAfter, createdBefore } = request;
  const { event, generationId } = 'event' in request ? request : {};
  return {
    ...readDeliveryFilter({
      state: wordOf(DELIVERY_STATE, state),
      event: event === undefined ? undefined : wordOf(EVENT, event),
      generation_id: generationId,
    }),
    createdFrom: createdAfter && readTimestamp(createdAfter, 'created_after'),
    createdBefore: createdBefore && readTimestamp(createdBefore, 'created_before'),
  };
}

export function renderWebhook(endpoint: WebhookEndpoint, machine: Machine): MessageInitShape<typeof WebhookSchema> {
  const { endpointId, url, events, description = '', disabled, failingSince, createdAt, updatedAt } = endpoint;
  const previousUntil = previousValidUntil(endpoint.secret, machine.clock.now());
  return {
    webhookId: endpointId,
    url,
    events: events.map((event) => EVENT[event]),
    description,
    disabledReason: disabled ? DISABLED[disabled.because] : WebhookDisabledReason.UNSPECIFIED,
    disableTime: timestamp(disabled?.at),
    failingSinceTime: timestamp(failingSince),
    createTime: timestamp(createdAt),
    updateTime: timestamp(updatedAt),
    previousSecretExpireTime: timestamp(previousUntil),
    secretHint: secretHint(secretText(signingKey(machine, endpointId, endpoint.secret))),
  };
}

export function renderDelivery(delivery: Delivery): MessageInitShape<typeof WebhookDeliverySchema> {
  const { deliveryId, generationId, event, state, url = '', attemptsMade, nextAttemptAt, attempts } = delivery;
  return {
    deliveryId,
    generationId,
    event: EVENT[event],
    state: DELIVERY_STATE[state],
    url,
    eventTime: timestamp(delivery.occurredAt),
    createTime: timestamp(delivery.createdAt),
    updateTime: timestamp(delivery.updatedAt),
    attemptsMade,
    nextAttemptTime: timestamp(nextAttemptAt),
    attempts: attempts.map(renderAttempt),
  };
}

function renderAttempt(attempt: DeliveryAttempt): MessageInitShape<typeof WebhookAttemptSchema> {
  const { event, startedAt, durationMs, result, status = 0, fault, body } = attempt;
  return {
    event: EVENT[event],
    startTime: timestamp(startedAt),
    durationMs: BigInt(durationMs),
    result: RESULT[result],
    httpStatus: status,
    fault: fault ? FAULT[fault] : WebhookAttemptFault.UNSPECIFIED,
    body: body?.text ?? '',
    bodyBytes: body?.bytes ?? 0,
  };
}
