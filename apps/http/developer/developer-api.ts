import { CredentialAccess, type CredentialAccessParts } from '../host/authenticate.js';
import { basePathOf } from '../host/pages.js';
import { createRouter, type HttpFront, type HttpRoute } from '../host/server.js';
import { docsRoutes } from './openapi.js';
import { type Api, BASE, serveProtected, servePublic } from './operation.js';
import { ROUTES } from './routes.js';

export type DeveloperApiOptions = Pick<Api, 'context' | 'rates' | 'bodyTimeoutMs'> &
  Pick<CredentialAccessParts, 'authenticator' | 'resourceMetadata' | 'requireStores'> & {
    /** The URL that clients use. Its path, which a proxy removes, does not change while the process runs. */
    readonly publicUrl: () => string;
  };

/** The endpoints of the API, and the pages that describe them. */
export function developerApi(options: DeveloperApiOptions): HttpFront {
  return (shared) => {
    const access = new CredentialAccess({ ...options, ...shared, audience: 'rest' });
    const basePath = basePathOf(options.publicUrl());
    const api: Api = { ...options, ...shared, access, basePath: basePath + BASE };
    const routes = ROUTES.map((route): HttpRoute => ({
      method: route.method,
      path: route.path,
      serve: route.scope === undefined ? servePublic(route, api) : serveProtected(route, api),
    }));
    return [createRouter(routes, BASE), createRouter(docsRoutes(options.context.settings, basePath))];
  };
}
