import type { Timestamp } from '@bufbuild/protobuf/wkt';
import {
  type Webhook,
  WebhookAttemptFault,
  WebhookAttemptResult,
  type WebhookDelivery,
  WebhookDeliveryState,
  WebhookDisabledReason,
  WebhookEvent,
  Webhooks,
} from '../../../apps/grpc/generated/darkroom/v1/webhooks_pb.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { FrontRequest } from '../vectors/play.js';
import type { WebhookOperation } from '../vectors/vector.js';
import type { Calling, GrpcAnswer } from './calling.js';
import { defined, type Fields, LIST, messageOf, moment, no, text, time, word } from './messages.js';

const { method } = Webhooks;

/** `generation.succeeded` as the name of a number. */
const eventWord = (value: Json) =>
  typeof value === 'string' ? word(WebhookEvent)(value.replace('.', '_')) : no('another type');

const CHANGE: Fields = {
  url: ['url', text],
  events: ['events', (value) => (Array.isArray(value) ? value.map(eventWord) : no('another type'))],
  description: ['description', text],
  enabled: ['enabled', (value) => (typeof value === 'boolean' ? value : no('another type'))],
};

const DELIVERIES: Fields = { ...LIST, state: ['state', word(WebhookDeliveryState)] };

const REPLAY: Fields = {
  created_after: ['createdAfter', moment],
  created_before: ['createdBefore', moment],
  state: ['state', word(WebhookDeliveryState)],
  cursor: ['pageToken', text],
};

/** Makes the webhook call that the request describes. */
export function askWebhooks(call: Calling, operation: WebhookOperation, request: FrontRequest): Promise<GrpcAnswer> {
  const { id: webhookId = '', deliveryId = '', query = {}, body } = request;
  switch (operation) {
    case 'createWebhook':
      return call(method.createWebhook, messageOf(CHANGE, body), ({ webhook, secret }) => ({
        ...webhookOf(webhook),
        secret,
      }));
    case 'listWebhooks':
      return call(method.listWebhooks, {}, ({ webhooks }) => ({ webhooks: webhooks.map(webhookOf) }));
    case 'getWebhook':
      return call(method.getWebhook, { webhookId }, ({ webhook }) => webhookOf(webhook));
    case 'updateWebhook':
      return call(method.updateWebhook, { webhookId, ...messageOf(CHANGE, body) }, ({ webhook }) => webhookOf(webhook));
    case 'deleteWebhook':
      return call(method.deleteWebhook, { webhookId }, ({ webhookId: id }) => ({ webhook_id: id }));
    case 'rotateWebhookSecret':
      return call(method.rotateWebhookSecret, { webhookId }, ({ secret, previousSecretExpireTime }) =>
        defined({ secret, previous_secret_expires_at: time(previousSecretExpireTime) }),
      );
    case 'listWebhookDeliveries':
      return call(
        method.listWebhookDeliveries,
        { webhookId, ...messageOf(DELIVERIES, query) },
        ({ deliveries, nextPageToken }) => ({ deliveries: deliveries.map(deliveryOf), ...cursorOf(nextPageToken) }),
      );
    case 'replayWebhookDelivery':
      return call(method.replayWebhookDelivery, { webhookId, deliveryId }, ({ delivery }) => deliveryOf(delivery));
    case 'replayWebhookDeliveries':
      return call(
        method.replayWebhookDeliveries,
        { webhookId, ...messageOf(REPLAY, body) },
        ({ replayed, nextPageToken }) => ({ replayed, ...cursorOf(nextPageToken) }),
      );
  }
}

function cursorOf(nextPageToken: string): JsonObject {
  return nextPageToken === '' ? {} : { next_cursor: nextPageToken };
}

function webhookOf(webhook: Webhook | undefined): JsonObject {
  if (webhook === undefined) throw new Error('The answer lacks its webhook.');
  return defined({
    webhook_id: webhook.webhookId,
    url: webhook.url,
    events: webhook.events.map(eventName),
    description: webhook.description || undefined,
    status: webhook.disableTime === undefined ? 'enabled' : 'disabled',
    disabled_because: nameOf(WebhookDisabledReason, webhook.disabledReason),
    disabled_at: time(webhook.disableTime),
    failing_since: time(webhook.failingSinceTime),
    created_at: time(webhook.createTime),
    updated_at: time(webhook.updateTime),
    previous_secret_expires_at: time(webhook.previousSecretExpireTime),
  });
}

function deliveryOf(delivery: WebhookDelivery | undefined): JsonObject {
  if (delivery === undefined) throw new Error('The answer lacks its delivery.');
  return defined({
    delivery_id: delivery.deliveryId,
    generation_id: delivery.generationId,
    event: eventName(delivery.event),
    state: nameOf(WebhookDeliveryState, delivery.state),
    url: delivery.url || undefined,
    occurred_at: time(delivery.eventTime),
    created_at: time(delivery.createTime),
    updated_at: time(delivery.updateTime),
    attempts_made: delivery.attemptsMade,
    next_attempt_at: time(delivery.nextAttemptTime),
    attempts: delivery.attempts.map((attempt) =>
      defined({
        event: eventName(attempt.event),
        started_at: time(attempt.startTime as Timestamp),
        duration_ms: Number(attempt.durationMs),
        result: nameOf(WebhookAttemptResult, attempt.result),
        status: attempt.httpStatus || undefined,
        fault: nameOf(WebhookAttemptFault, attempt.fault),
      }),
    ),
  });
}

const eventName = (event: WebhookEvent): string => (WebhookEvent[event] ?? '').toLowerCase().replace('_', '.');

/** Undefined for UNSPECIFIED. */
function nameOf(names: Readonly<Record<number, string>>, value: number): string | undefined {
  return value === 0 ? undefined : names[value]?.toLowerCase();
}
