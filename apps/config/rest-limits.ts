import { type CredentialLimits, DEFAULT_CREDENTIAL_LIMITS } from '../http/host/authenticate.js';
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from '../http/host/http-context.js';
import type { Config } from './config.js';

/** The limits in the section `rest`: those of the HTTP host, and the request rates of a credential. */
export type RestLimits = HttpLimits & CredentialLimits;

/** The limits set by a configuration. */
export function restLimits({ rateLimits, ...limits }: Config['rest']): RestLimits {
  const { createsPerMinute: writesPerMinute, ...rates } = rateLimits;
  return { ...limits, ...rates, writesPerMinute };
}

export const DEFAULT_REST_LIMITS: RestLimits = { ...DEFAULT_CREDENTIAL_LIMITS, ...DEFAULT_HTTP_LIMITS };
