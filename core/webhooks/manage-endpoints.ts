import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import type { Json } from '../json.js';
import { isUuid } from '../uuid.js';
import { changeWebhooks, withEndpoint } from './change-webhooks.js';
import {
  MAX_ENDPOINTS_PER_APP,
  nextSecret,
  signingKey,
  type AppWebhooks,
  type SigningSecret,
  type WebhookEndpoint,
} from './endpoint.js';
import { readEndpointChange, readEndpointRequest, type EndpointChange } from './request.js';

/** Names the App itself in place of an endpoint: its secret signs messages to addresses of single generations. */
export const DEFAULT_ENDPOINT = 'default';

type Owner = Pick<Caller, 'accountId' | 'appId'>;
type Needs = Pick<Context, 'webhookEndpoints' | 'webhookSender' | 'jsonSchemas' | 'digests' | 'clock' | 'ids'>;

/** A secret, and the key that it stands for: 32 bytes in hex. */
export interface ShownSecret {
  readonly secret: SigningSecret;
  readonly key: string;
}

/**
 * Adds an endpoint to the caller's App. Throws FIELD_REQUIRED, FIELD_INVALID, and CONFLICT when the App has one with this
 * address, or as many as it may have.
 */
export async function createEndpoint(
  context: Needs,
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
  { webhookEndpoints, call }: Pick<Context, 'webhookEndpoints' | 'call'>,
  { appId }: Owner,
): Promise<readonly WebhookEndpoint[]> {
  return (await webhookEndpoints.read(appId, call))?.endpoints ?? [];
}

/** Throws NOT_FOUND alike for an unknown id, a malformed one and another App's endpoint. */
export async function getEndpoint(
  context: Pick<Context, 'webhookEndpoints' | 'call'>,
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

/** Changes what is given. One that is enabled again begins with a clean record. Throws as get and create do. */
export async function updateEndpoint(
  context: Needs,
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

/** What is open of it is cancelled when it is next tried. Throws as get does. */
export async function deleteEndpoint(context: Needs, caller: Owner, endpointId: string): Promise<void> {
  await changeWebhooks(context, caller, (current) => {
    const { endpointId: id } = found(current.endpoints, endpointId);
    return { ...current, endpoints: current.endpoints.filter((endpoint) => endpoint.endpointId !== id) };
  });
}

/**
 * A new secret for an endpoint, or for the App's `DEFAULT_ENDPOINT`, which has none before. The one before it is valid for
 * a day more. Throws as get does.
 */
export async function rotateSecret(context: Needs, caller: Owner, endpointId: string): Promise<ShownSecret> {
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

function shown(context: Needs, endpointId: string, secret: SigningSecret): ShownSecret {
  return { secret, key: signingKey(context, endpointId, secret) };
}

/** The endpoint's id as deliveries have it: the App's for its default. Throws as get does. */
export async function deliveredTo(
  context: Pick<Context, 'webhookEndpoints' | 'call'>,
  caller: Owner,
  endpointId: string,
): Promise<{ readonly endpointId: string; readonly endpoint?: WebhookEndpoint }> {
  if (endpointId === DEFAULT_ENDPOINT) return { endpointId: caller.appId };
  const endpoint = await getEndpoint(context, caller, endpointId);
  return { endpointId: endpoint.endpointId, endpoint };
}
