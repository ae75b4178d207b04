import type { Authenticator } from '../../../core/access/authenticate.js';
import type { Context } from '../../../core/context.js';
import { CredentialAccess, type CredentialAccessParts, type CredentialRates } from '../host/authenticate.js';
import { createRouter, type HttpFront, type HttpRoute } from '../host/server.js';
import { docsRoutes } from './openapi.js';
import { type Api, serveProtected, servePublic } from './operation.js';
import { BASE, ROUTES } from './routes.js';

export interface DeveloperApiOptions {
  readonly context: Context;
  readonly authenticator: Authenticator;
  readonly rates: CredentialRates;
  /** How long a JSON body may take to arrive once its headers are here, in milliseconds. */
  readonly bodyTimeoutMs: number;
  /** The URL of the API's metadata as a protected resource (RFC 9728); absent where no tokens are issued. */
  readonly resourceMetadata?: () => string | undefined;
  /** Throws the error for a protected request that the stores could not serve anyway; all are tried when absent. */
  readonly requireStores?: CredentialAccessParts['requireStores'];
}

/** The endpoints of the API, and the pages that describe them. */
export function developerApi({
  context,
  authenticator,
  rates,
  bodyTimeoutMs,
  resourceMetadata = () => undefined,
  requireStores = () => undefined,
}: DeveloperApiOptions): HttpFront {
  return ({ addresses, refusals, isStopping, onStopping }) => {
    const api: Api = {
      context,
      access: new CredentialAccess({
        authenticator,
        clock: context.clock,
        audience: 'rest',
        addresses,
        refusals,
        resourceMetadata,
        requireStores,
      }),
      rates,
      isStopping,
      onStopping,
      bodyTimeoutMs,
    };
    const routes = ROUTES.map((route): HttpRoute => ({
      method: route.method,
      path: route.path,
      serve: route.scope === undefined ? servePublic(route, api) : serveProtected(route, api),
    }));
    return [createRouter(routes, BASE), createRouter(docsRoutes(context.settings))];
  };
}
