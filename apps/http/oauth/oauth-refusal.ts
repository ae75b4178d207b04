import type { ErrorRenderer } from '../host/http-context.js';

export const OAUTH_JSON_TYPE = 'application/json; charset=utf-8';

const TRANSIENT: ReadonlySet<string> = new Set(['RATE_LIMITED', 'SERVICE_UNAVAILABLE', 'REQUEST_TIMEOUT']);

/** Renders refusals of the host as OAuth clients read them (RFC 6749 §5.2), with `otherwise` for what is no passing state. */
export function oauthErrors(otherwise: string): ErrorRenderer {
  return ({ code, message }) => ({
    mediaType: OAUTH_JSON_TYPE,
    text: oauthRefusal(TRANSIENT.has(code) ? 'temporarily_unavailable' : otherwise, message),
  });
}

export function oauthRefusal(error: string, description: string): string {
  return JSON.stringify({ error, error_description: description });
}
