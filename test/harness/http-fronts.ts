import { valuesOf } from '../../apps/config/key.js';
import { CONFIG_KEYS, KEYS } from '../../apps/config/keys.js';
import type { HttpHost } from '../../apps/http/host/server.js';
import { type HttpOptions, provideHttp, type RestLimits, restLimits } from '../../apps/http/http-fronts.js';
import type { Parts } from '../../apps/wiring/parts.js';

const DEFAULTS = new Map([...CONFIG_KEYS].map(([path, schema]) => [path, schema['default'] ?? null]));
export const DEFAULT_REST_LIMITS: RestLimits = restLimits(valuesOf({ rest: KEYS.rest }, DEFAULTS).rest);

export interface HttpFrontsOptions
  extends
    HttpOptions,
    Pick<Parts, 'context' | 'authenticator' | 'logger' | 'publicUrl' | 'readiness'>,
    Partial<Pick<Parts, 'requireStores'>> {}

/** The HTTP server over a context that is not that of a program. */
export function createHttpFronts(options: HttpFrontsOptions): HttpHost {
  const { context, authenticator, logger, publicUrl, readiness, requireStores = () => undefined } = options;
  const made: Record<string, unknown> = { context, authenticator, logger, publicUrl, readiness, requireStores };
  // The list names every part after those that it needs.
  provideHttp(
    (name, _, make) => void (made[name] = make(made as unknown as Parts)),
    (name) => name in made,
    options,
  );
  return made['http'] as HttpHost;
}
