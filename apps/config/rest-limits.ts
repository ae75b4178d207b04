import { type CredentialLimits, DEFAULT_CREDENTIAL_LIMITS } from '../http/host/authenticate.js';
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from '../http/host/http-context.js';
import type { Config } from './config.js';

/** What the section `rest` bounds: what the HTTP host takes, and how often a credential may ask. */
export type RestLimits = HttpLimits & CredentialLimits;

/** The limits of a configuration. */
export function restLimits({ rateLimits, ...limits }: Config['rest']): RestLimits {
  const { createsPerMinute: writesPerMinute, ...rates } = rateLimits;
  return { ...limits, ...rates, writesPerMinute };
}

export const DEFAULT_REST_LIMITS: RestLimits = { ...DEFAULT_CREDENTIAL_LIMITS, ...DEFAULT_HTTP_LIMITS };
