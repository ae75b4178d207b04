import { type Caller, scopeInsufficient } from '../access/credential.js';
import type { Call, Machine, Webhooks } from '../context.js';
import { busy, ServiceError } from '../errors.js';
import { fieldInvalid, readBody } from '../fields.js';
import { isUuid } from '../ids.js';
import type { Json, JsonObject } from '../json.js';
import type { Ports } from '../ports/ports.js';
import {
  type AppWebhooks,
  END_EVENTS,
  MAX_ENDPOINTS_PER_APP,
  newAppWebhooks,
  nextSecret,
  signingKey,
  type SigningSecret,
  WEBHOOK_EVENTS,
  type WebhookEndpoint,
  type WebhookEvent,
} from './endpoint.js';

/** The owner of a record of webhooks. */
export type Owner = Pick<Caller, 'accountId' | 'appId'>;

/** Names the App itself in place of an endpoint: its secret signs messages to addresses of single generations. */
export const DEFAULT_ENDPOINT = 'default';

/** A secret, and the key that it represents: 32 bytes in hex. */
export interface ShownSecret {
  readonly secret: SigningSecret;
  readonly key: string;
}

/**
 * Adds an endpoint to the caller's App. Throws FIELD_REQUIRED, FIELD_INVALID, and CONFLICT when the App has one with this
 * address, or as many as it may have.
 */
export async function createEndpoint(
  context: Webhooks & Machine,
  caller: Owner,
  body: Json,
): Promise<ShownSecret & { readonly endpoint: WebhookEndpoint }> {
  const { url, events, description = '' } = readEndpointRequest(context, body);
  const now = context.clock.now();
  const endpoint = {
    endpointId: context.ids.uuid(),
    url,
    events,
    ...(description === '' ? {} : { description }),
    secret: nextSecret(undefined, now),
    createdAt: now,
    updatedAt: now,
  };
  await changeWebhooks(context, caller, (current) => {
    requireNewAddress(current, url);
    if (current.endpoints.length >= MAX_ENDPOINTS_PER_APP)
      throw new ServiceError(
        'CONFLICT',
        `The App has ${MAX_ENDPOINTS_PER_APP} webhooks, which is the most it may have.`,
      );
    return { ...current, endpoints: [...current.endpoints, endpoint] };
  });
  return { endpoint, ...shown(context, endpoint.endpointId, endpoint.secret) };
}

function requireNewAddress({ endpoints }: AppWebhooks, url: string): void {
  const existing = endpoints.find((endpoint) => endpoint.url === url);
  if (existing !== undefined)
    throw new ServiceError('CONFLICT', `The App has a webhook with this url, ${existing.endpointId}.`);
}

/** Those of the caller's App, in the order of their creation. */
export async function listEndpoints(
  { webhookEndpoints, call }: Webhooks & Call,
  { appId }: Owner,
): Promise<readonly WebhookEndpoint[]> {
  return (await webhookEndpoints.read(appId, call))?.endpoints ?? [];
}

/** Throws NOT_FOUND alike for an unknown id, a malformed one and another App's endpoint. */
export async function getEndpoint(
  context: Webhooks & Call,
  caller: Owner,
  endpointId: string,
): Promise<WebhookEndpoint> {
  return found(await listEndpoints(context, caller), endpointId);
}

function found(endpoints: readonly WebhookEndpoint[], endpointId: string): WebhookEndpoint {
  const id = isUuid(endpointId) ? endpointId.toLowerCase() : undefined;
  const endpoint = endpoints.find((one) => one.endpointId === id);
  if (endpoint === undefined) throw new ServiceError('NOT_FOUND', 'The App has no webhook with this id.');
  return endpoint;
}

/**
 * Changes the given fields. An endpoint that is enabled again starts with a clean record. Throws as get and create do.
 */
export async function updateEndpoint(
  context: Webhooks & Machine,
  caller: Owner,
  endpointId: string,
  body: Json,
): Promise<WebhookEndpoint> {
  const change = readEndpointChange(context, body);
  const now = context.clock.now();
  const changed = await changeWebhooks(context, caller, (current) => {
    const endpoint = found(current.endpoints, endpointId);
    if (change.url !== undefined && change.url !== endpoint.url) requireNewAddress(current, change.url);
    return withEndpoint(current, { ...updated(endpoint, change, now), updatedAt: now });
  });
  return found(changed.endpoints, endpointId);
}

function updated(endpoint: WebhookEndpoint, change: EndpointChange, now: number): WebhookEndpoint {
  const { description: before, disabled, failingSince, ...rest } = endpoint;
  const { url = endpoint.url, events = endpoint.events, description = before ?? '', enabled } = change;
  const next = { ...rest, url, events, ...(description === '' ? {} : { description }) };
  if (enabled === true && disabled !== undefined) return next;
  const stopped = enabled === false ? (disabled ?? { at: now, because: 'client' as const }) : disabled;
  return {
    ...next,
    ...(stopped === undefined ? {} : { disabled: stopped }),
    ...(failingSince === undefined ? {} : { failingSince }),
  };
}

/** Deletes an endpoint. Its open deliveries are cancelled when they are next tried. Throws as get does. */
export async function deleteEndpoint(context: Webhooks & Machine, caller: Owner, endpointId: string): Promise<void> {
  await changeWebhooks(context, caller, (current) => {
    const { endpointId: id } = found(current.endpoints, endpointId);
    return { ...current, endpoints: current.endpoints.filter((endpoint) => endpoint.endpointId !== id) };
  });
}

/**
 * A new secret for an endpoint, or for the App's `DEFAULT_ENDPOINT`, which has none before. The one before it is valid for
 * a day more. Throws as get does.
 */
export async function rotateSecret(
  context: Webhooks & Machine,
  caller: Owner,
  endpointId: string,
): Promise<ShownSecret> {
  const now = context.clock.now();
  const isDefault = endpointId === DEFAULT_ENDPOINT;
  let secret = nextSecret(undefined, now);
  await changeWebhooks(context, caller, (current) => {
    const endpoint = isDefault ? undefined : found(current.endpoints, endpointId);
    secret = nextSecret(isDefault ? current.defaultSecret : endpoint?.secret, now);
    if (endpoint === undefined) return { ...current, defaultSecret: secret };
    return withEndpoint(current, { ...endpoint, secret, updatedAt: now });
  });
  return shown(context, isDefault ? caller.appId : endpointId.toLowerCase(), secret);
}

function shown(context: Webhooks & Machine, endpointId: string, secret: SigningSecret): ShownSecret {
  return { secret, key: signingKey(context, endpointId, secret) };
}

/** The endpoint's id as deliveries have it: the App's for its default. Throws as get does. */
export async function deliveredTo(
  context: Webhooks & Call,
  caller: Owner,
  endpointId: string,
): Promise<{ readonly endpointId: string; readonly endpoint?: WebhookEndpoint }> {
  if (endpointId === DEFAULT_ENDPOINT) return { endpointId: caller.appId };
  const endpoint = await getEndpoint(context, caller, endpointId);
  return { endpointId: endpoint.endpointId, endpoint };
}

/**
 * Why the end of one generation cannot be reported to this URL: DEVELOPER_SCOPE_INSUFFICIENT, FIELD_INVALID, and CONFLICT
 * while the App has no default secret, which signs the message.
 */
export async function webhookUrlRefusal(
  { webhookEndpoints, webhookSender, call }: Webhooks & Call,
  caller: Caller,
  url: string,
): Promise<ServiceError | undefined> {
  if (!caller.scopes.includes('webhooks:manage')) return scopeInsufficient('webhooks:manage');
  const fault = webhookSender.addressFault(url);
  if (fault !== undefined) return fieldInvalid('/webhook_url', `The webhook URL of a generation ${fault}.`);
  if ((await webhookEndpoints.read(caller.appId, call))?.defaultSecret !== undefined) return undefined;
  return new ServiceError(
    'CONFLICT',
    'The App has no default webhook secret, which signs what is sent to the webhook URL of a generation; make one first.',
  );
}

const MAX_TRIES = 10;

/**
 * Decides a change on the newest version of an App's record and writes it; undefined changes nothing. Retries a bounded
 * number of times if another process was faster. Returns the record after the change. Passes on errors that `change`
 * throws.
 */
export async function changeWebhooks(
  { webhookEndpoints }: Webhooks,
  { accountId, appId }: Owner,
  change: (current: AppWebhooks) => AppWebhooks | undefined,
): Promise<AppWebhooks> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const current = (await webhookEndpoints.read(appId)) ?? newAppWebhooks(appId, accountId);
    const changed = change(current);
    if (changed === undefined) return current;
    const next = { ...changed, version: current.version + 1 };
    if ((await webhookEndpoints.replace(next, current.version)) === 'applied') return next;
  }
  throw busy('The webhooks of the App are being changed by too many processes at the same time; try again.');
}

/** The record with this endpoint in place of the one with its id. */
export function withEndpoint(webhooks: AppWebhooks, changed: WebhookEndpoint): AppWebhooks {
  return {
    ...webhooks,
    endpoints: webhooks.endpoints.map((one) => (one.endpointId === changed.endpointId ? changed : one)),
  };
}

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

/** Absent fields keep their values. */
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

type NeedsRequest = Pick<Ports, 'jsonSchemas' | 'webhookSender'>;

/** Throws FIELD_REQUIRED and FIELD_INVALID, of an address that must not be called too. */
function readEndpointRequest(ports: NeedsRequest, body: Json): EndpointRequest {
  const {
    url,
    events = END_EVENTS,
    description,
  } = readBody<EndpointChange & Pick<EndpointRequest, 'url'>>(ports, CREATE_WEBHOOK_SCHEMA, body);
  requireAddress(ports, url);
  return { url, events: inOrder(events), ...(description === undefined ? {} : { description }) };
}

/** Throws as `readEndpointRequest` does. */
function readEndpointChange(ports: NeedsRequest, body: Json): EndpointChange {
  const change = readBody<EndpointChange>(ports, UPDATE_WEBHOOK_SCHEMA, body);
  if (change.url !== undefined) requireAddress(ports, change.url);
  return { ...change, ...(change.events === undefined ? {} : { events: inOrder(change.events) }) };
}

/** Throws FIELD_INVALID for an address that must not be called. */
function requireAddress({ webhookSender }: Pick<NeedsRequest, 'webhookSender'>, url: string): void {
  const fault = webhookSender.addressFault(url);
  if (fault !== undefined) throw fieldInvalid('/url', `url ${fault}.`);
}

function inOrder(events: readonly WebhookEvent[]): readonly WebhookEvent[] {
  return WEBHOOK_EVENTS.filter((event) => events.includes(event));
}
