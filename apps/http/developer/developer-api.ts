import type { Authenticator } from '../../../core/access/authenticate.js';
import type { Context } from '../../../core/context.js';
import { type CredentialRates, CredentialWatch } from '../host/authenticate.js';
import { createRouter, type HttpRoute } from '../host/routing.js';
import type { HttpFront } from '../host/server.js';
import { docsRoutes } from './openapi.js';
import { BASE, ROUTES } from './routes.js';
import {
  credentialAccess,
  type CredentialAccessParts,
  serveProtected,
  servePublic,
  type ServingParts,
} from './serve-operation.js';

export interface DeveloperApiOptions {
  readonly context: Context;
  readonly authenticator: Authenticator;
  readonly rates: CredentialRates;
  /** How long a JSON body may take to arrive once its headers are here, in milliseconds. */
  readonly bodyTimeoutMs: number;
  /** The address of the API's metadata as a protected resource (RFC 9728); absent where no tokens are given out. */
  readonly resourceMetadata?: () => string | undefined;
  /** Throws what refuses a protected request that the stores could not answer anyway; absent, all are tried. */
  readonly requireStores?: CredentialAccessParts['requireStores'];
}

/** The endpoints of the interface, and the pages that describe them. */
export function developerApi({
  context,
  authenticator,
  rates,
  bodyTimeoutMs,
  resourceMetadata = () => undefined,
  requireStores = () => undefined,
}: DeveloperApiOptions): HttpFront {
  const credentialWatch = new CredentialWatch(authenticator, context.clock, 'rest');
  return ({ addresses, refusals, isStopping, onStopping }) => {
    const parts: ServingParts = {
      context,
      access: credentialAccess({
        authenticator,
        addresses,
        refusals,
        credentialWatch,
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
      serve: route.scope === undefined ? servePublic(route, parts) : serveProtected(route, parts),
    }));
    return [createRouter(routes, BASE), createRouter(docsRoutes(context.settings))];
  };
}
