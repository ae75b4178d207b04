import type { Json, JsonObject } from '../../../core/json.js';
import { GRANT_TYPES } from './metadata.js';

const MAX_NAME = 200;

/** What is kept of a client's metadata (RFC 7591); anything else that it sends changes nothing here. */
const KEPT_URLS = ['client_uri', 'policy_uri', 'tos_uri'] as const;

/**
 * The metadata under which a client is registered. All clients are public ones that prove themselves with PKCE, so no
 * secret is made or kept. What is asked for and does not exist here is left out, and the client reads the result.
 */
export function registeredMetadata(sent: JsonObject): JsonObject {
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

/** Whether a program on the computer of the person waits there. */
export function isLoopback(redirectUri: string): boolean {
  const { protocol, hostname } = new URL(redirectUri);
  return protocol === 'http:' && LOOPBACK.has(hostname);
}

/** Whose a redirect address is, in words for a person. */
export function ownerOf(redirectUri: string): string {
  if (isLoopback(redirectUri)) return 'a program on this computer';
  const { protocol, host } = new URL(redirectUri);
  return protocol === 'https:' ? host : `a program on this computer (${protocol})`;
}
