import type { HttpHost } from '../../apps/http/host/server.js';
import { type HttpOptions, provideHttp } from '../../apps/wiring/modules.js';
import type { Parts } from '../../apps/wiring/parts.js';

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
