import { secretText } from '../../../adapters/webhooks/signature.js';
import { secretHint } from '../../../core/access/credential.js';
import type { Machine } from '../../../core/context.js';
import type { JsonObject } from '../../../core/json.js';
import type { WebhookMessage } from '../../../core/ports/outside.js';
import {
  ATTEMPT_FAULTS,
  ATTEMPT_RESULTS,
  type Delivery,
  DELIVERY_STATES,
  type DeliveryAttempt,
} from '../../../core/webhooks/delivery.js';
import {
  DISABLED_BECAUSE,
  previousValidUntil,
  SENT_EVENTS,
  signingKey,
  TEST_EVENT,
  WEBHOOK_EVENTS,
  type WebhookEndpoint,
} from '../../../core/webhooks/endpoint.js';
import type { ShownSecret } from '../../../core/webhooks/manage-endpoints.js';
import { renderTask } from './generation.js';
import { record, TIMESTAMP, timestamp, UUID } from './schema-parts.js';

const EVENT: JsonObject = { type: 'string', enum: [...WEBHOOK_EVENTS] };
const SENT_EVENT: JsonObject = {
  type: 'string',
  enum: [...SENT_EVENTS],
  description: 'generation.test: a test, whose generation does not exist.',
};
const SECRET: JsonObject = {
  type: 'string',
  pattern: '^whsec_',
  description: 'Signs the messages. It is shown this once: keep it where the receiver can read it.',
};
const PREVIOUS_UNTIL: JsonObject = {
  ...TIMESTAMP,
  description: 'Until when messages are signed by the secret before this one too; present after a rotation.',
};

const WEBHOOK: JsonObject = {
  webhook_id: UUID,
  url: { type: 'string' },
  events: { type: 'array', items: EVENT },
  description: { type: 'string' },
  status: { type: 'string', enum: ['enabled', 'disabled'] },
  disabled_because: {
    type: 'string',
    enum: [...DISABLED_BECAUSE],
    description:
      'client: a request disabled it. gone: it answered 410. failing: nothing that was sent to it succeeded for five days.',
  },
  disabled_at: TIMESTAMP,
  failing_since: { ...TIMESTAMP, description: 'Present while nothing that is sent to it succeeds.' },
  created_at: TIMESTAMP,
  updated_at: TIMESTAMP,
  secret_hint: {
    type: 'string',
    description: 'The beginning and the last four characters of the newest secret, by which people recognise it.',
  },
  previous_secret_expires_at: PREVIOUS_UNTIL,
};
const OPTIONAL = [
  'description',
  'disabled_because',
  'disabled_at',
  'failing_since',
  'secret_hint',
  'previous_secret_expires_at',
];

export const WEBHOOK_SCHEMA = record('Webhook', WEBHOOK, OPTIONAL);

export const CREATED_WEBHOOK_SCHEMA = record('CreatedWebhook', { ...WEBHOOK, secret: SECRET }, OPTIONAL);

export const WEBHOOK_SECRET_SCHEMA = record(
  'WebhookSecret',
  { secret: SECRET, previous_secret_expires_at: PREVIOUS_UNTIL },
  ['previous_secret_expires_at'],
);

const ATTEMPT_SCHEMA = record(
  'WebhookAttempt',
  {
    event: SENT_EVENT,
    started_at: TIMESTAMP,
    duration_ms: { type: 'integer', minimum: 0 },
    result: {
      type: 'string',
      enum: [...ATTEMPT_RESULTS],
      description: 'unknown: the service ended before it could see the answer.',
    },
    status: { type: 'integer', description: 'HTTP status of the answer, if there was one.' },
    fault: {
      type: 'string',
      enum: [...ATTEMPT_FAULTS],
      description:
        'Why there was no answer. address: it must not be called. answer: what came is not HTTP, or too large.',
    },
    body: {
      type: 'string',
      description:
        'The first 1,024 bytes of the body of the answer as text, without control characters. Absent for an empty or binary body, for one from an address that is not public, and once ten later attempts were made.',
    },
    body_bytes: {
      type: 'integer',
      minimum: 1,
      description: 'How long the body was, as far as it was read, which is 65,536 bytes at most. It may be binary.',
    },
  },
  ['status', 'fault', 'body', 'body_bytes'],
);

export const DELIVERY_SCHEMA = record(
  'WebhookDelivery',
  {
    delivery_id: UUID,
    generation_id: UUID,
    event: {
      ...SENT_EVENT,
      description: 'The newest one that is told of this generation; generation.test: a test, without a generation.',
    },
    state: {
      type: 'string',
      enum: [...DELIVERY_STATES],
      description:
        'pending: not yet tried. retrying: tried, and to be tried again. exhausted: tried as often as it may be. disabled: the webhook was disabled. cancelled: the generation or the webhook was deleted.',
    },
    url: { type: 'string', description: 'The Darkroom-Webhook-Url of the generation, where that was told.' },
    occurred_at: { ...TIMESTAMP, description: 'When the event happened.' },
    created_at: TIMESTAMP,
    updated_at: TIMESTAMP,
    attempts_made: { type: 'integer', minimum: 0, description: 'For this event, since it happened or was replayed.' },
    next_attempt_at: { ...TIMESTAMP, description: 'Present while it is pending or retrying.' },
    attempts: {
      type: 'array',
      maxItems: 20,
      items: ATTEMPT_SCHEMA,
      description: 'The last ones, of earlier events too, oldest first.',
    },
  },
  ['url', 'next_attempt_at'],
);

export function renderWebhook(endpoint: WebhookEndpoint, machine: Machine): object {
  const { endpointId, url, events, description, disabled, failingSince, createdAt, updatedAt } = endpoint;
  return {
    webhook_id: endpointId,
    url,
    events,
    description,
    status: disabled === undefined ? 'enabled' : 'disabled',
    disabled_because: disabled?.because,
    disabled_at: optional(disabled?.at),
    failing_since: optional(failingSince),
    created_at: timestamp(createdAt),
    updated_at: timestamp(updatedAt),
    secret_hint: hintOf(machine, endpoint),
    previous_secret_expires_at: optional(previousValidUntil(endpoint.secret, machine.clock.now())),
  };
}

/** The hint of an endpoint's newest secret. It is derived like the secret itself, so that none is stored. */
export function hintOf(
  machine: Machine,
  { endpointId, secret }: Pick<WebhookEndpoint, 'endpointId' | 'secret'>,
): string {
  return secretHint(secretText(signingKey(machine, endpointId, secret)));
}

export function renderSecret({ secret, key }: ShownSecret, now: number): object {
  return { secret: secretText(key), previous_secret_expires_at: optional(previousValidUntil(secret, now)) };
}

export function renderDelivery(delivery: Delivery): object {
  return {
    delivery_id: delivery.deliveryId,
    generation_id: delivery.generationId,
    event: delivery.event,
    state: delivery.state,
    url: delivery.url,
    occurred_at: timestamp(delivery.occurredAt),
    created_at: timestamp(delivery.createdAt),
    updated_at: timestamp(delivery.updatedAt),
    attempts_made: delivery.attemptsMade,
    next_attempt_at: optional(delivery.nextAttemptAt),
    attempts: delivery.attempts.map(renderAttempt),
  };
}

function renderAttempt({ event, startedAt, durationMs, result, status, fault, body }: DeliveryAttempt): object {
  return {
    event,
    started_at: timestamp(startedAt),
    duration_ms: durationMs,
    result,
    status,
    fault,
    body: body?.text,
    body_bytes: body?.bytes,
  };
}

function optional(at: number | undefined): string | undefined {
  return at === undefined ? undefined : timestamp(at);
}

/** The body of a message to a webhook endpoint: what happened, when, and the task as `GET` shows it now. */
export function renderWebhookMessage({
  event,
  occurredAt,
  view,
}: Pick<WebhookMessage, 'event' | 'occurredAt' | 'view'>): object {
  const test = event === TEST_EVENT ? { test: true } : {};
  return { type: event, timestamp: timestamp(occurredAt), ...test, data: renderTask(view) };
}
