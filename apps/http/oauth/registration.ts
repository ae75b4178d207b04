import type { Identity, Machine } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { Artefact } from '../../../core/people/person.js';
import { secretDigest } from '../../../core/people/secrets.js';
import { blockOf } from '../../config/network-address.js';
import { RateLimit } from '../../rate-limit.js';
import { allowOrigin, preflightFromAnyOrigin } from '../host/cors.js';
import type { ErrorRenderer } from '../host/http-context.js';
import { readBody } from '../host/request.js';
import { JSON_TYPE, sendText } from '../host/send.js';
import { createRouter, type HttpHandler, type HttpRouter, type HttpShared } from '../host/server.js';
import { ENDPOINTS, GRANT_TYPES } from './metadata.js';

const MAX_BYTES = 16 * 1024;
const PER_ADDRESS_A_MINUTE = 20;
const PER_ADDRESS_AN_HOUR = 100;
/** A site with a /48 has 65,536 networks that each count as an address. */
const PER_BLOCK_A_MINUTE = 40;
const PER_BLOCK_AN_HOUR = 200;
const HOUR_SECONDS = 3_600;
const TOO_MANY = 'Too many clients were registered from this address; try again later.';

export interface RegistrationOptions {
  readonly context: ClientPorts;
  readonly bodyTimeoutMs: number;
}

/**
 * Dynamic registration (RFC 7591). Anyone may register a client, so the size of a request, its rate per address and per
 * block of addresses, and the number of unused clients are limited.
 */
export function registrationRouter(
  { context, bodyTimeoutMs }: RegistrationOptions,
  { addresses }: Pick<HttpShared, 'addresses'>,
): HttpRouter {
  const ofAddress = [new RateLimit(PER_ADDRESS_A_MINUTE), new RateLimit(PER_ADDRESS_AN_HOUR, HOUR_SECONDS)];
  const ofBlock = [new RateLimit(PER_BLOCK_A_MINUTE), new RateLimit(PER_BLOCK_AN_HOUR, HOUR_SECONDS)];
  const register: HttpHandler = async (ctx) => {
    allowOrigin(ctx.res, '*');
    ctx.set('Cache-Control', 'no-store');
    ctx.state.renderError = oauthErrors('invalid_client_metadata');
    const address = addresses.ofRequest(ctx.req);
    const block = blockOf(address);
    for (const limit of ofAddress) await limit.require(address, TOO_MANY);
    for (const limit of ofBlock) await limit.require(block, TOO_MANY);
    try {
      const metadata = metadataOf(
        await readBody(ctx.req, { maxBytes: MAX_BYTES, timeoutMs: bodyTimeoutMs, required: true }),
      );
      await sendText(ctx, 201, {
        mediaType: JSON_TYPE,
        text: JSON.stringify(await registerClient(context, metadata, block)),
      });
    } catch (error) {
      if (!(error instanceof RegistrationRefused)) throw error;
      await sendText(ctx, 400, { mediaType: JSON_TYPE, text: oauthRefusal(error.code, error.message) });
    }
  };
  return createRouter([
    { method: 'POST', path: ENDPOINTS.registration, serve: register },
    preflightFromAnyOrigin(ENDPOINTS.registration, ['POST']),
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
/** A scheme of a program's own: a domain name in reverse order, which its author controls (RFC 8252, 7.1). */
const OWN_SCHEME = /^[a-z][a-z0-9+-]*(\.[a-z0-9][a-z0-9+-]*)+:$/;

/**
 * Why a client may not have these redirect addresses, as a sentence; undefined if it may. The codes that are sent there
 * must reach the client alone: over TLS, within the machine, or by the scheme of an installed program. A scheme without
 * a dot is refused: it may be one that a browser or the operating system runs, and any program can claim it.
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
  if (protocol === 'https:' || protocol === 'http:' || OWN_SCHEME.test(protocol)) return undefined;
  return (
    `Redirects to ${protocol} addresses are refused: use https:, or http: on the loopback interface, ` +
    'or a scheme that is a domain name of yours in reverse order, as in com.example.app:/callback.'
  );
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
const MAX_UNUSED = 950;
/** A list of the store has no more. What several processes add to the 950 at the same time is seen, and removed next. */
const MAX_LISTED = 1_000;
/** As many unused clients of one block of addresses are safe while the total is reached. */
const SAFE_PER_BLOCK = 5;
/** Within this a new client is not removed for the sake of another. */
const SAFE_MS = 3_600_000;
/** The member of a stored client with a digest of the block of addresses that it was registered from. */
const BLOCK = 'registered_from';

/**
 * Stores a client under a new id, and returns its metadata with the id. `block` is the block of addresses that it comes
 * from, of which a digest is stored. Throws RATE_LIMITED if too many clients were registered.
 */
async function registerClient(ports: ClientPorts, metadata: JsonObject, block: string): Promise<JsonObject> {
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
    data: { ...registered, [BLOCK]: ports.digests.keyed(`addresses ${block}`) },
    createdAt: now,
    expiresAt: now + UNUSED_CLIENT_MS,
    removeAt: now + UNUSED_CLIENT_MS,
  });
  return registered;
}

/**
 * Keeps the number of unused clients below 950. The oldest one makes room that may be removed, of the block of addresses
 * with the most of them: so whoever registers many removes their own, and nobody else's. Beyond 950, as many make
 * room as may. Throws RATE_LIMITED if none may be removed.
 */
async function makeRoom(ports: ClientPorts): Promise<void> {
  const { artefacts, clock } = ports;
  const unused = await artefacts.listOwned(CLIENT_KIND, UNUSED, MAX_LISTED);
  const blocks = byBlock(unused.toReversed());
  for (let left = unused.length; left >= MAX_UNUSED; left -= 1) {
    const removable = await firstRemovable(ports, blocks);
    if (removable === undefined && left < unused.length) return;
    if (removable === undefined) {
      const safeUntil = Math.min(...unused.map(({ createdAt }) => createdAt)) + SAFE_MS;
      throw new ServiceError('RATE_LIMITED', 'Too many clients were registered; try again later.', {
        retryAfterMs: Math.max(MINUTE_MS, safeUntil - clock.now()),
      });
    }
    // Somebody may have connected it since it was listed.
    await artefacts.remove(removable, UNUSED);
  }
}

/** Clients by the block of addresses that they were registered from. */
function byBlock(clients: readonly Artefact[]): Artefact[][] {
  const blocks = new Map<unknown, Artefact[]>();
  for (const client of clients) {
    const block = blocks.get(client.data[BLOCK]);
    if (block === undefined) blocks.set(client.data[BLOCK], [client]);
    else block.push(client);
  }
  return [...blocks.values()];
}

const MINUTE_MS = 60_000;
/** So many clients are looked at for one that makes room, at most. */
const MAX_LOOKED_AT = 50;

/**
 * Takes the first client that may be removed out of its block, that with the most clients first: any one if the block has
 * more than is safe; otherwise one that has had an hour to be used and that no person is asked about right now.
 */
async function firstRemovable(ports: ClientPorts, blocks: Artefact[][]): Promise<Artefact | undefined> {
  let looks = 0;
  for (const clients of blocks.sort((a, b) => b.length - a.length)) {
    if (clients.length > SAFE_PER_BLOCK) return clients.shift();
    for (const [index, client] of clients.entries()) {
      if (client.createdAt + SAFE_MS > ports.clock.now()) break;
      if ((looks += 1) > MAX_LOOKED_AT) return undefined;
      if (!(await hasOpenRequest(ports, client))) return clients.splice(index, 1)[0];
    }
  }
  return undefined;
}

/** The kinds of artefacts in which a client waits for a person's answer. */
export const INTERACTION_KIND = 'oauth-interaction';
export const DEVICE_CODE_KIND = 'device-code';
const MAX_OPEN = 100;

/** The owner of the artefacts of a client's requests, until it is known which person answers them. */
export function requestsOf(ports: Machine, clientId: string): string {
  return ownerOfRequests(secretDigest(ports, CLIENT_KIND, clientId));
}

const REQUESTS = 'client-';
const ownerOfRequests = (digest: string): string => REQUESTS + digest;

/** Whether an artefact's owner is a client, rather than a person. */
export function isClients(owner: string): boolean {
  return owner.startsWith(REQUESTS);
}

async function hasOpenRequest({ artefacts, clock }: ClientPorts, { id }: Artefact): Promise<boolean> {
  for (const kind of [INTERACTION_KIND, DEVICE_CODE_KIND]) {
    const requests = await artefacts.listOwned(kind, ownerOfRequests(id), MAX_OPEN);
    if (requests.some(({ endedAt, expiresAt }) => endedAt === undefined && expiresAt > clock.now())) return true;
  }
  return false;
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
