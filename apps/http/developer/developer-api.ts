import type { Authenticator } from '../../../core/access/authenticate.js';
import type { Context } from '../../../core/context.js';
import {
  authenticateRequest,
  type AuthenticatingParts,
  type CredentialRates,
  CredentialWatch,
} from '../host/authenticate.js';
import { readNoBody } from '../host/read-body.js';
import { readCredential } from '../host/request.js';
import { createRouter, type HttpFront, type HttpHandler, type HttpRoute } from '../host/server.js';
import { docsRoutes } from './openapi.js';
import { type Access, type Api, type PublicRoute, serveProtected } from './operation.js';
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
  readonly requireStores?: AuthenticatingParts['requireStores'];
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
  const credentialWatch = new CredentialWatch(authenticator, context.clock, 'rest');
  return ({ addresses, refusals, isStopping, onStopping }) => {
    const api: Api = {
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
      serve: route.scope === undefined ? servePublic(route, api) : serveProtected(route, api),
    }));
    return [createRouter(routes, BASE), createRouter(docsRoutes(context.settings))];
  };
}

interface CredentialAccessParts extends AuthenticatingParts {
  readonly credentialWatch: CredentialWatch;
}

/** By an API key or an access token. */
function credentialAccess(parts: CredentialAccessParts): Access {
  return {
    authenticate: (ctx) => authenticateRequest(ctx, parts, 'rest'),
    follow: ({ req }, onRefused) => parts.credentialWatch.follow(readCredential(req) ?? '', onRefused),
  };
}

/** Reads the body of a public route, which takes none, before its handler. */
function servePublic({ operation }: PublicRoute, { context, bodyTimeoutMs }: Api): HttpHandler {
  return async (ctx) => {
    await readNoBody(ctx.req, { timeoutMs: bodyTimeoutMs });
    await operation.serve(ctx, context);
  };
}
