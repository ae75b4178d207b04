import type { MessageInitShape } from '@bufbuild/protobuf';
import { previousValidUntil, type DisabledBecause, type WebhookEndpoint } from '../../../core/webhooks/endpoint.js';
import type {
  AttemptFault,
  AttemptResult,
  Delivery,
  DeliveryAttempt,
  DeliveryState,
} from '../../../core/webhooks/delivery.js';
import type { WebhookEvent as CoreEvent } from '../../../core/webhooks/events.js';
import {
  WebhookAttemptFault,
  WebhookAttemptResult,
  WebhookDeliveryState,
  WebhookDisabledReason,
  WebhookEvent,
  type WebhookAttemptSchema,
  type WebhookDeliverySchema,
  type WebhookSchema,
} from '../generated/darkroom/v1/webhooks_pb.js';
import { timestamp } from './times.js';

export const WEBHOOK_EVENT: Readonly<Record<CoreEvent, WebhookEvent>> = {
  'generation.running': WebhookEvent.GENERATION_RUNNING,
  'generation.succeeded': WebhookEvent.GENERATION_SUCCEEDED,
  'generation.failed': WebhookEvent.GENERATION_FAILED,
  'generation.cancelled': WebhookEvent.GENERATION_CANCELLED,
};

export const DELIVERY_STATE: Readonly<Record<DeliveryState, WebhookDeliveryState>> = {
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
