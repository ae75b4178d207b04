import { fieldInvalid, readBody } from '../fields.js';
import type { Json, JsonObject } from '../json.js';
import type { Ports } from '../ports/tokens.js';
import { DELIVERY_STATES, type DeliveryState } from './delivery.js';
import { END_EVENTS, WEBHOOK_EVENTS, type WebhookEvent } from './events.js';

export const MAX_URL_CHARACTERS = 2_048;

const PROPERTIES = {
  url: {
    type: 'string',
    minLength: 1,
    maxLength: MAX_URL_CHARACTERS,
    description: 'Where messages are sent: an https address of a public host, or of one that the operator allows.',
  },
  events: {
    type: 'array',
    minItems: 1,
    uniqueItems: true,
    items: { type: 'string', enum: [...WEBHOOK_EVENTS] },
    description: 'What it is told of; every end of a generation when absent.',
  },
  description: { type: 'string', maxLength: 200, description: 'For people; an empty one removes it.' },
} satisfies JsonObject;

export const CREATE_WEBHOOK_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['url'],
  properties: PROPERTIES,
} as const satisfies JsonObject;

/** What is absent stays as it is. */
export const UPDATE_WEBHOOK_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...PROPERTIES,
    enabled: { type: 'boolean', description: 'false sends it nothing until it is true again.' },
  },
} as const satisfies JsonObject;

export interface EndpointRequest {
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly description?: string;
}

export interface EndpointChange extends Partial<EndpointRequest> {
  readonly enabled?: boolean;
}

type Needs = Pick<Ports, 'jsonSchemas' | 'webhookSender'>;

/** Throws FIELD_REQUIRED and FIELD_INVALID, of an address that must not be called too. */
export function readEndpointRequest(ports: Needs, body: Json): EndpointRequest {
  const {
    url,
    events = END_EVENTS,
    description,
  } = readBody<EndpointChange & Pick<EndpointRequest, 'url'>>(ports, CREATE_WEBHOOK_SCHEMA, body);
  requireAddress(ports, url, 'url');
  return { url, events: inOrder(events), ...(description === undefined ? {} : { description }) };
}

/** Throws as `readEndpointRequest` does. */
export function readEndpointChange(ports: Needs, body: Json): EndpointChange {
  const change = readBody<EndpointChange>(ports, UPDATE_WEBHOOK_SCHEMA, body);
  if (change.url !== undefined) requireAddress(ports, change.url, 'url');
  return { ...change, ...(change.events === undefined ? {} : { events: inOrder(change.events) }) };
}

/** Throws FIELD_INVALID for an address that must not be called; `name` is what the client knows it by. */
export function requireAddress({ webhookSender }: Pick<Needs, 'webhookSender'>, url: string, name: string): void {
  const fault = webhookSender.addressFault(url);
  if (fault !== undefined) throw fieldInvalid(`/${name}`, `${name} ${fault}.`);
}

function inOrder(events: readonly WebhookEvent[]): readonly WebhookEvent[] {
  return WEBHOOK_EVENTS.filter((event) => events.includes(event));
}

/** Throws FIELD_INVALID for a word that is no state of a delivery. */
export function readDeliveryState(text: string | undefined): DeliveryState | undefined {
  const known = DELIVERY_STATES.find((state) => state === text);
  if (text !== undefined && known === undefined)
    throw fieldInvalid('/state', `state must be one of ${DELIVERY_STATES.join(', ')}.`);
  return known;
}
