import { type CredentialLimits, DEFAULT_CREDENTIAL_LIMITS } from '../http/host/authenticate.js';
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from '../http/host/http-context.js';

/** What the section `rest` bounds: what the HTTP host takes, and how often a credential may ask. */
export type RestLimits = HttpLimits & CredentialLimits;

export const DEFAULT_REST_LIMITS: RestLimits = { ...DEFAULT_CREDENTIAL_LIMITS, ...DEFAULT_HTTP_LIMITS };
