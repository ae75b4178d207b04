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
