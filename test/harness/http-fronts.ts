import { valuesOf } from '../../apps/config/key.js';
import { CONFIG_KEYS, KEYS } from '../../apps/config/keys.js';
import { ClientAddresses } from '../../apps/http/host/client-addresses.js';
import type { HttpFront, HttpHost } from '../../apps/http/host/server.js';
import { UnauthenticatedRefusals } from '../../apps/http/host/unauthenticated-refusals.js';
import { type HttpOptions, provideHttp, type RestLimits, restLimits } from '../../apps/http/http-fronts.js';
import { HTTP_FRONTS, type Parts } from '../../apps/wiring/parts.js';

const DEFAULTS = new Map([...CONFIG_KEYS].map(([path, schema]) => [path, schema['default'] ?? null]));
export const DEFAULT_REST_LIMITS: RestLimits = restLimits(valuesOf({ rest: KEYS.rest }, DEFAULTS).rest);

export interface HttpFrontsOptions
  extends
    HttpOptions,
    Pick<Parts, 'context' | 'authenticator' | 'logger' | 'publicUrl' | 'readiness'>,
    Partial<Pick<Parts, 'requireStores'>> {}

/** The HTTP server over a context that is not that of a program. */
export function createHttpFronts(options: HttpFrontsOptions): HttpHost {
  return partsOf(options)['http'] as HttpHost;
}

/** The paths of all routes of these fronts, as patterns. */
export function pathsOf(options: HttpFrontsOptions): readonly string[] {
  const made = partsOf(options);
  const shared = {
    addresses: new ClientAddresses([]),
    refusals: new UnauthenticatedRefusals(0, { clock: options.context.clock, logger: options.logger }),
    isStopping: () => false,
    onStopping: () => () => undefined,
  };
  try {
    const fronts = HTTP_FRONTS.flatMap((name) => (name in made ? [made[name] as HttpFront] : []));
    return fronts.flatMap((front) => front(shared)).flatMap(({ stack }) => stack.map(({ path }) => String(path)));
  } finally {
    shared.refusals.close();
  }
}

/** The parts that the wiring makes, by name. */
function partsOf(options: HttpFrontsOptions): Record<string, unknown> {
  const { context, authenticator, logger, publicUrl, readiness, requireStores = () => undefined } = options;
  const made: Record<string, unknown> = { context, authenticator, logger, publicUrl, readiness, requireStores };
  // The list names every part after those that it needs.
  provideHttp(
    (name, _, make) => void (made[name] = make(made as unknown as Parts)),
    (name) => name in made,
    options,
  );
  return made;
}
