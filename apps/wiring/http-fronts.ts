import type { Logger } from 'pino';
import type { SignedObjectGate } from '../../adapters/signed-object-gate.js';
import type { Authenticator } from '../../core/access/authenticate.js';
import type { Audience } from '../../core/access/credential.js';
import type { Context } from '../../core/context.js';
import type { RestLimits } from '../config/rest-limits.js';
import { CONSOLE_PATH } from '../http/console/console-front.js';
import { developerApi, type DeveloperApiOptions } from '../http/developer/developer-api.js';
import { createCredentialRates } from '../http/host/authenticate.js';
import { probes, startPage } from '../http/host/pages.js';
import { createHttpHost, type HttpHost, type HttpHostOptions } from '../http/host/server.js';
import { mcp, type McpOptions } from '../http/mcp/mcp-front.js';
import { resourceMetadataUrl } from '../http/oauth/metadata.js';
import { signedObjects } from '../http/objects/signed-objects.js';
import { givesTokens, hasConsole, peopleFronts, type PeopleFrontsOptions } from './people-fronts.js';

export interface HttpFrontsOptions
  extends
    Pick<HttpHostOptions, 'trustedProxies' | 'lingerMs' | 'observer'>,
    Pick<DeveloperApiOptions, 'requireStores'> {
  readonly context: Context;
  readonly authenticator: Authenticator;
  readonly logger: Logger;
  readonly limits: RestLimits;
  /** Serves `/objects/…`, for an object store without its own server. */
  readonly signedObjects?: SignedObjectGate;
  /** Where clients reach this process, without a slash at the end. */
  readonly publicUrl: () => string;
  /** The MCP server; there is none when absent. */
  readonly mcp?: Pick<McpOptions, 'confirmAboveCredits'> | undefined;
  /** How people sign in and connect programs; as by default where nothing is said. */
  readonly people?: PeopleFrontsOptions;
  /** Whether the database answers; asked for `/readyz`, once at a time. */
  readonly readiness: () => Promise<boolean>;
}

/** Every HTTP front of one process over one host. Nothing is listening before `listen`. */
export function createHttpFronts({
  context,
  authenticator,
  limits,
  requireStores,
  signedObjects: gate,
  readiness,
  publicUrl,
  people = {},
  mcp: mcpOptions,
  ...options
}: HttpFrontsOptions): HttpHost {
  const { ids, clock } = context;
  const { logger } = options;
  const shared = {
    context,
    authenticator,
    rates: createCredentialRates(limits),
    bodyTimeoutMs: limits.bodyTimeoutMs,
    ...(requireStores ? { requireStores } : {}),
  };
  const metadataOf = (audience: Audience) =>
    givesTokens(people) ? { resourceMetadata: () => resourceMetadataUrl(publicUrl(), audience) } : {};
  return createHttpHost({ ids, clock, limits, ...options }, [
    developerApi({ ...shared, ...metadataOf('rest') }),
    ...(mcpOptions ? [mcp({ ...shared, ...mcpOptions, ...metadataOf('mcp'), publicUrl, logger })] : []),
    startPage(hasConsole(people) ? CONSOLE_PATH : '/docs'),
    ...peopleFronts({
      context,
      publicUrl,
      limits,
      rates: shared.rates,
      logger,
      hasMcp: mcpOptions !== undefined,
      ...people,
    }),
    ...(gate ? [signedObjects(gate)] : []),
    probes(readiness),
  ]);
}
