import type { Context, Identity, Machine } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import { secretDigest } from '../../../core/people/grants.js';
import { RateLimit } from '../../rate-limit.js';
import type { HttpContext } from '../host/http-context.js';
import { readBody } from '../host/read-body.js';
import { sendText } from '../host/send.js';
import { createRouter, type HttpHandler, type HttpRouter, type HttpShared } from '../host/server.js';
import { redirectFault, registeredMetadata } from './client-metadata.js';
import { ENDPOINTS } from './metadata.js';
import { OAUTH_JSON_TYPE, oauthErrors, oauthRefusal } from './oauth-refusal.js';

const ANY_ORIGIN = { 'Access-Control-Allow-Origin': '*' } as const;
const MAX_BYTES = 16 * 1024;
const PER_ADDRESS_A_MINUTE = 20;
/** A tenth of those that are kept before anybody has used them: so many are safe for an hour. */
const PER_ADDRESS_AN_HOUR = 100;
const HOUR_SECONDS = 3_600;

export interface RegistrationOptions {
  readonly context: Context;
  readonly bodyTimeoutMs: number;
}

type ClientPorts = Identity & Machine;

export const CLIENT_KIND = 'oauth-client';
/** The owner of clients to which nobody has given anything yet. */
const UNUSED = 'unused';
const DAY_MS = 86_400_000;
/** How long a client that nobody uses stays registered. */
const UNUSED_CLIENT_MS = 30 * DAY_MS;
const MAX_UNUSED = 1_000;
/** Within this a new client is not removed for the sake of another. */
const SAFE_MS = 3_600_000;

/**
 * Dynamic registration (RFC 7591). Anybody may register a client, so the size of a request, its rate for an address, and
 * the number of clients that nobody uses are bounded.
 */
export function registrationRouter(
  { context, bodyTimeoutMs }: RegistrationOptions,
  { addresses }: Pick<HttpShared, 'addresses'>,
): HttpRouter {
  const rates = [new RateLimit(PER_ADDRESS_A_MINUTE), new RateLimit(PER_ADDRESS_AN_HOUR, HOUR_SECONDS)];
  const register: HttpHandler = async (ctx) => {
    ctx.set({ ...ANY_ORIGIN, 'Cache-Control': 'no-store' });
    ctx.state.renderError = oauthErrors('invalid_client_metadata');
    for (const limit of rates) {
      const rate = await limit.take(addresses.ofRequest(ctx.req));
      if (rate.isOver)
        throw new ServiceError('RATE_LIMITED', 'Too many clients were registered from this address; try again later.', {
          retryAfterMs: rate.resetMs,
        });
    }
    try {
      const metadata = metadataOf(
        await readBody(ctx.req, { maxBytes: MAX_BYTES, timeoutMs: bodyTimeoutMs, required: true }),
      );
      await sendText(ctx, 201, {
        mediaType: OAUTH_JSON_TYPE,
        text: JSON.stringify(await registerClient(context, metadata)),
      });
    } catch (error) {
      if (!(error instanceof RegistrationRefused)) throw error;
      await sendText(ctx, 400, { mediaType: OAUTH_JSON_TYPE, text: oauthRefusal(error.code, error.message) });
    }
  };
  return createRouter([
    { method: 'POST', path: ENDPOINTS.registration, serve: register },
    { method: 'any', path: ENDPOINTS.registration, serve: allowOrigins },
  ]);
}

/** A refusal as RFC 7591 §3.2.2 wants it. */
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

/** Asked by a browser before a page of another origin may register. */
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

/**
 * Stores a client under a new id, and answers its metadata with the id. Throws RATE_LIMITED if too many clients were
 * registered.
 */
export async function registerClient(ports: ClientPorts, metadata: JsonObject): Promise<JsonObject> {
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
 * Keeps the number of unused clients below 1,000: the oldest one goes, if it had an hour to be used. Throws
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
