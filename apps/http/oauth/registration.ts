import type { Identity, Machine } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { secretDigest } from '../../../core/people/secrets.js';
import { RateLimit } from '../../rate-limit.js';
import type { ErrorRenderer, HttpContext } from '../host/http-context.js';
import { readBody } from '../host/request.js';
import { JSON_TYPE, sendText } from '../host/send.js';
import { createRouter, type HttpHandler, type HttpRouter, type HttpShared } from '../host/server.js';
import { ENDPOINTS, GRANT_TYPES } from './metadata.js';

const ANY_ORIGIN = { 'Access-Control-Allow-Origin': '*' } as const;
const MAX_BYTES = 16 * 1024;
const PER_ADDRESS_A_MINUTE = 20;
/** A tenth of those that are kept before anybody has used them: so many are safe for an hour. */
const PER_ADDRESS_AN_HOUR = 100;
const HOUR_SECONDS = 3_600;

export interface RegistrationOptions {
  readonly context: ClientPorts;
  readonly bodyTimeoutMs: number;
}

/**
 * Dynamic registration (RFC 7591). Anyone may register a client, so the size of a request, its rate per address, and
 * the number of unused clients are limited.
 */
export function registrationRouter(
  { context, bodyTimeoutMs }: RegistrationOptions,
  { addresses }: Pick<HttpShared, 'addresses'>,
): HttpRouter {
  const rates = [new RateLimit(PER_ADDRESS_A_MINUTE), new RateLimit(PER_ADDRESS_AN_HOUR, HOUR_SECONDS)];
  const register: HttpHandler = async (ctx) => {
    ctx.set({ ...ANY_ORIGIN, 'Cache-Control': 'no-store' });
    ctx.state.renderError = oauthErrors('invalid_client_metadata');
    for (const limit of rates)
      await limit.require(
        addresses.ofRequest(ctx.req),
        'Too many clients were registered from this address; try again later.',
      );
    try {
      const metadata = metadataOf(
        await readBody(ctx.req, { maxBytes: MAX_BYTES, timeoutMs: bodyTimeoutMs, required: true }),
      );
      await sendText(ctx, 201, {
        mediaType: JSON_TYPE,
        text: JSON.stringify(await registerClient(context, metadata)),
      });
    } catch (error) {
      if (!(error instanceof RegistrationRefused)) throw error;
      await sendText(ctx, 400, { mediaType: JSON_TYPE, text: oauthRefusal(error.code, error.message) });
    }
  };
  return createRouter([
    { method: 'POST', path: ENDPOINTS.registration, serve: register },
    { method: 'any', path: ENDPOINTS.registration, serve: allowOrigins },
  ]);
}

/** An error of registration (RFC 7591 §3.2.2). */
class RegistrationRefused extends Error {
  constructor(
    readonly code: 'invalid_redirect_uri' | 'invalid_client_metadata',
    message: string,
  ) {
    super(message);
    this.name = 'RegistrationRefused';
  }
}

function metadataOf(body: unknown): JsonObject {
  if (body === null || typeof body !== 'object' || Array.isArray(body))
    throw new RegistrationRefused('invalid_client_metadata', 'Send the metadata of the client as a JSON object.');
  const metadata = registeredMetadata(body as JsonObject);
  if ((metadata['response_types'] as readonly string[]).length === 0) return metadata;
  const fault = redirectFault(metadata['redirect_uris']);
  if (fault !== undefined) throw new RegistrationRefused('invalid_redirect_uri', fault);
  return metadata;
}

/** A browser sends this request before a page of another origin may register. */
async function allowOrigins(ctx: HttpContext): Promise<void> {
  if (ctx.method !== 'OPTIONS') {
    ctx.set('Allow', 'OPTIONS, POST');
    throw new ServiceError('METHOD_NOT_ALLOWED', 'This route takes OPTIONS, POST.');
  }
  ctx.set({
    ...ANY_ORIGIN,
    'Access-Control-Allow-Methods': 'POST',
    'Access-Control-Allow-Headers': 'content-type',
    'Access-Control-Max-Age': '3600',
  });
  ctx.status = 204;
}

const MAX_NAME = 200;

/** The URLs of a client's metadata that are stored (RFC 7591). */
const KEPT_URLS = ['client_uri', 'policy_uri', 'tos_uri'] as const;

/**
 * The metadata under which a client is registered. All clients are public ones that prove themselves with PKCE, so no
 * secret is made or kept. Unsupported values are left out, and the client reads the result.
 */
function registeredMetadata(sent: JsonObject): JsonObject {
  const grants: readonly Json[] = Array.isArray(sent['grant_types']) ? sent['grant_types'] : GRANT_TYPES.slice(0, 2);
  const known = GRANT_TYPES.filter((type) => grants.includes(type));
  const hasCode = known.includes('authorization_code') || !known.some((type) => type.endsWith('device_code'));
  const { redirect_uris: redirects = [], client_name: name } = sent;
  return {
    ...(typeof name === 'string' && name.trim() !== '' ? { client_name: name.slice(0, MAX_NAME) } : {}),
    ...Object.fromEntries(KEPT_URLS.flatMap((key) => (isWebUrl(sent[key]) ? [[key, sent[key]]] : []))),
    ...(isWebUrl(sent['logo_uri']) ? { logo_uri: sent['logo_uri'] } : {}),
    redirect_uris: redirects,
    grant_types: [...new Set([...(hasCode ? ['authorization_code'] : []), ...known, 'refresh_token'])],
    response_types: hasCode ? ['code'] : [],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  };
}

function isWebUrl(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length <= 2_000 &&
    URL.canParse(value) &&
    /^https?:$/.test(new URL(value).protocol)
  );
}

const MAX_REDIRECTS = 20;
const MAX_LENGTH = 2_000;
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);
/** Schemes that a browser runs, or that name something of its own. */
const REFUSED_SCHEMES = new Set([
  'about:',
  'blob:',
  'data:',
  'file:',
  'filesystem:',
  'ftp:',
  'intent:',
  'javascript:',
  'vbscript:',
  'view-source:',
  'ws:',
  'wss:',
]);

/**
 * Why a client may not have these redirect addresses, as a sentence; undefined if it may. The codes that are sent there
 * must reach the client alone: over TLS, within the machine, or by the scheme of an installed program.
 */
export function redirectFault(redirectUris: unknown): string | undefined {
  if (!Array.isArray(redirectUris) || redirectUris.length === 0) return 'redirect_uris must be a list of addresses.';
  if (redirectUris.length > MAX_REDIRECTS) return `redirect_uris must have at most ${MAX_REDIRECTS} addresses.`;
  return redirectUris.map(faultOf).find((fault) => fault !== undefined);
}

function faultOf(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || uri.length > MAX_LENGTH || !URL.canParse(uri))
    return `Each of redirect_uris must be an address of at most ${MAX_LENGTH} characters.`;
  const { protocol, hostname, username, password } = new URL(uri);
  if (uri.includes('#')) return 'A redirect address must have no fragment.';
  if (username !== '' || password !== '') return 'A redirect address must have no user name and no password.';
  if (protocol === 'http:' && !LOOPBACK.has(hostname))
    return 'A redirect address without TLS must be on the loopback interface.';
  if (REFUSED_SCHEMES.has(protocol)) return `Redirects to ${protocol} addresses are refused.`;
  return undefined;
}

/** Whether a redirect address leads to a program on the person's computer. */
export function isLoopback(redirectUri: string): boolean {
  const { protocol, hostname } = new URL(redirectUri);
  return protocol === 'http:' && LOOPBACK.has(hostname);
}

/** The owner of a redirect address, in words for a person. */
export function ownerOf(redirectUri: string): string {
  if (isLoopback(redirectUri)) return 'a program on this computer';
  const { protocol, host } = new URL(redirectUri);
  return protocol === 'https:' ? host : `a program on this computer (${protocol})`;
}

type ClientPorts = Identity & Machine;

export const CLIENT_KIND = 'oauth-client';
/** The owner of clients to which no one has granted anything yet. */
const UNUSED = 'unused';
const DAY_MS = 86_400_000;
/** How long an unused client stays registered. */
const UNUSED_CLIENT_MS = 30 * DAY_MS;
const MAX_UNUSED = 1_000;
/** Within this a new client is not removed for the sake of another. */
const SAFE_MS = 3_600_000;

/**
 * Stores a client under a new id, and returns its metadata with the id. Throws RATE_LIMITED if too many clients were
 * registered.
 */
async function registerClient(ports: ClientPorts, metadata: JsonObject): Promise<JsonObject> {
  await makeRoom(ports);
  const now = ports.clock.now();
  const registered = {
    ...metadata,
    client_id: ports.ids.uuid(),
    client_id_issued_at: Math.floor(now / 1_000),
  };
  await ports.artefacts.put({
    kind: CLIENT_KIND,
    id: secretDigest(ports, CLIENT_KIND, registered.client_id),
    owner: UNUSED,
    data: registered,
    createdAt: now,
    expiresAt: now + UNUSED_CLIENT_MS,
    removeAt: now + UNUSED_CLIENT_MS,
  });
  return registered;
}

/**
 * Keeps the number of unused clients below 1,000: the oldest one is removed, if it has had an hour to be used. Throws
 * RATE_LIMITED if all are newer.
 */
async function makeRoom({ artefacts, clock }: ClientPorts): Promise<void> {
  const unused = await artefacts.listOwned(CLIENT_KIND, UNUSED, MAX_UNUSED);
  const oldest = unused.at(-1);
  if (oldest === undefined || unused.length < MAX_UNUSED) return;
  const safeUntil = oldest.createdAt + SAFE_MS;
  if (safeUntil > clock.now())
    throw new ServiceError('RATE_LIMITED', 'Too many clients were registered; try again later.', {
      retryAfterMs: safeUntil - clock.now(),
    });
  await artefacts.remove(oldest);
}

/** A client that somebody has connected stays registered as long as a grant could live. */
export async function noteClientUse(ports: ClientPorts, clientId: string): Promise<void> {
  const { artefacts, clock, settings } = ports;
  const found = await artefacts.find({ kind: CLIENT_KIND, id: secretDigest(ports, CLIENT_KIND, clientId) });
  const expiresAt = clock.now() + settings.grantIdleMs + DAY_MS;
  if (!found || found.endedAt !== undefined) return;
  if (found.owner !== UNUSED && expiresAt - found.expiresAt < DAY_MS) return;
  const { owner: _owner, ...client } = found;
  await artefacts.put({ ...client, expiresAt, removeAt: expiresAt + DAY_MS });
}

const TRANSIENT: ReadonlySet<string> = new Set(['RATE_LIMITED', 'SERVICE_UNAVAILABLE', 'REQUEST_TIMEOUT']);

/** Renders errors of the host for OAuth clients (RFC 6749 §5.2), with the code `otherwise` for errors that are not transient. */
export function oauthErrors(otherwise: string): ErrorRenderer {
  return ({ code, message }) => ({
    mediaType: JSON_TYPE,
    text: oauthRefusal(TRANSIENT.has(code) ? 'temporarily_unavailable' : otherwise, message),
  });
}

function oauthRefusal(error: string, description: string): string {
  return JSON.stringify({ error, error_description: description });
}
