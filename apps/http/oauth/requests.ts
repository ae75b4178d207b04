import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Audience } from '../../../core/access/credential.js';
import { askedScopes, knownScopes } from '../../../core/people/grants.js';
import { readBytes } from '../host/request.js';
import { audienceOf, ENDPOINTS, type MetadataOptions, resourceUrl } from './metadata.js';

/*
 * Requests of clients as the library gets them. It refuses parameters of OpenID Connect and scopes that this server does
 * not have, which a client of OAuth may send (RFC 6749, 3.1 and 3.3), and it compares resources as texts.
 */

/** The parameters of an authorization request that count here; all others are ignored. */
const KNOWN = [
  'client_id',
  'code_challenge',
  'code_challenge_method',
  'max_age',
  'prompt',
  'redirect_uri',
  'request',
  'request_uri',
  'resource',
  'response_mode',
  'response_type',
  'scope',
  'state',
];

/** Parameters of OpenID Connect, which the library refuses in requests to its other endpoints. */
const NOT_KNOWN = ['acr_values', 'claims', 'claims_locales', 'id_token_hint', 'max_age', 'nonce', 'registration'];

/**
 * What the consent page reads beside the parameters of the client, which cannot send these: whether the scopes are the
 * default, and the time since when the person must have signed in, in milliseconds.
 */
export const OWN_PARAMS = { isDefault: 'darkroom_scope_is_default', since: 'darkroom_signed_in_since' } as const;

/** The value of `OWN_PARAMS.since` for a `max_age` that is not a number of seconds. */
export const NOT_A_NUMBER = 'invalid';
/** A sign-in as late as this before the request counts as part of it, so that nobody signs in twice in a row. */
const JUST_SIGNED_IN_MS = 60_000;

/** The resources that tokens are for. */
export type Resources = Pick<MetadataOptions, 'publicUrl' | 'audiences'>;

/** The audience of a token for which no resource was named: the MCP server, where there is one. */
export function defaultAudience(served: readonly Audience[]): Audience {
  return served.includes('mcp') ? 'mcp' : 'rest';
}

/**
 * The query of an authorization request as the library gets it, or the name of a parameter that was sent more than once.
 * RFC 8707 allows that for resources alone.
 */
export function readAuthorizationRequest(
  query: string,
  { now, ...resources }: Resources & { readonly now: number },
): { readonly repeated: string } | { readonly query: string } {
  const sent = new URLSearchParams(query);
  const repeated = KNOWN.find((name) => name !== 'resource' && sent.getAll(name).length > 1);
  if (repeated !== undefined) return { repeated };
  const params = new URLSearchParams();
  for (const [name, value] of sent) if (KNOWN.includes(name) && value !== '') params.append(name, value);
  readPrompt(params, now);
  readScope(params);
  readResource(params, resources, true);
  return { query: params.toString() };
}

/**
 * Every request shows the page of consent, with the account and a way to another one, so most prompts ask for what
 * happens anyway. `login` is a `max_age` of 0. `none` stays, and is refused beside another one.
 */
function readPrompt(params: URLSearchParams, now: number): void {
  const prompts = new Set((params.get('prompt') ?? '').split(' ').filter((prompt) => PROMPTS.includes(prompt)));
  const maxAge = prompts.has('login') ? '0' : params.get('max_age');
  params.delete('prompt');
  params.delete('max_age');
  if (prompts.has('none')) params.set('prompt', prompts.size === 1 ? 'none' : 'none consent');
  if (maxAge !== null) params.set(OWN_PARAMS.since, sinceText(maxAge, now));
}

function sinceText(maxAge: string, now: number): string {
  if (!/^\d{1,12}$/.test(maxAge)) return NOT_A_NUMBER;
  return String(Math.max(0, now - Math.max(JUST_SIGNED_IN_MS, Number(maxAge) * 1_000)));
}

const PROMPTS = ['none', 'login', 'consent', 'select_account'];

function readScope(params: URLSearchParams): void {
  const { scopes, isDefault } = askedScopes(params.get('scope') ?? undefined);
  params.set('scope', scopes.join(' '));
  if (isDefault) params.set(OWN_PARAMS.isDefault, 'yes');
}

/** Names each resource as its metadata does, and once. */
function readResource(params: URLSearchParams, { publicUrl, audiences }: Resources, hasDefault: boolean): void {
  const named = params.getAll('resource').filter((resource) => resource !== '');
  params.delete('resource');
  if (named.length === 0 && hasDefault) params.set('resource', resourceUrl(publicUrl(), defaultAudience(audiences)));
  for (const resource of new Set(named.map((one) => canonicalResource(one, { publicUrl, audiences }))))
    params.append('resource', resource);
}

/** A resource in the spelling of its metadata. Those of others stay as they are, and are refused. */
export function canonicalResource(resource: string, { publicUrl, audiences }: Resources): string {
  const audience = audienceOf(publicUrl(), resource, audiences);
  return audience === undefined ? resource : resourceUrl(publicUrl(), audience);
}

const FORM_TYPE = /^application\/x-www-form-urlencoded(?:[ \t]*;|$)/i;
const MAX_FORM_BYTES = 56 * 1024;

/**
 * A request to the token or device authorization endpoint as the library gets it: the same with another form. Throws
 * BODY_TOO_LARGE beyond 56 KiB, and REQUEST_TIMEOUT.
 */
export async function withReadForm(
  req: IncomingMessage,
  path: string,
  { timeoutMs, ...resources }: Resources & { readonly timeoutMs: number },
): Promise<IncomingMessage> {
  if (req.method !== 'POST' || !FORM_TYPE.test(req.headers['content-type'] ?? '')) return req;
  const bytes = await readBytes(req, { maxBytes: MAX_FORM_BYTES, timeoutMs });
  const params = new URLSearchParams(bytes.toString('utf8'));
  for (const name of NOT_KNOWN) params.delete(name);
  for (const name of Object.values(OWN_PARAMS)) params.delete(name);
  if (path === ENDPOINTS.device_authorization) {
    // More than one is left for the library to refuse.
    if (params.getAll('scope').length <= 1) readScope(params);
    readResource(params, resources, true);
  } else {
    const [scope, ...more] = params.getAll('scope');
    const known = knownScopes(scope).join(' ');
    // A refresh that names no scope that exists gets those that it had (RFC 6749, 6).
    if (known === '') params.delete('scope');
    else if (more.length === 0) params.set('scope', known);
    readResource(params, resources, false);
  }
  return withForm(req, params.toString());
}

/** The request, with this form in place of the one that was read. */
function withForm(req: IncomingMessage, form: string): IncomingMessage {
  const body = Readable.from([Buffer.from(form)]);
  delete req.headers['transfer-encoding'];
  req.headers['content-length'] = String(Buffer.byteLength(form));
  return Object.create(req, {
    readable: { value: true },
    readableEncoding: { value: null },
    iterator: { value: (options?: { destroyOnReturn?: boolean }) => body.iterator(options) },
  }) as IncomingMessage;
}
