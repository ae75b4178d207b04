import { Router } from '@koa/router';
import type Koa from 'koa';
import { METHODS, type ServerResponse } from 'node:http';
import { ServiceError } from '../../../core/errors.js';
import type { HttpContext, HttpMiddleware, HttpState } from './http-context.js';

/** A request whose path matched. A parameter is the segment of the path, percent-decoded where it can be. */
export type RoutedContext = HttpContext & { readonly params: Readonly<Record<string, string>> };
export type HttpHandler = (ctx: RoutedContext) => Promise<void>;
export type HttpRouter = Router<HttpState>;

export interface HttpRoute {
  /** HEAD is served with GET. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'any';
  /**
   * A segment `:name` matches any non-empty text, and `*name` the rest of the path. The comparison is exact: letter
   * case and a trailing slash count.
   */
  readonly path: string;
  readonly serve: HttpHandler;
}

/**
 * The routes of a front. A path without parameters goes before one with them, whatever the method, so that a name is
 * never taken for a value. A path that lacks the method throws METHOD_NOT_ALLOWED and says which it has.
 */
export function createRouter(routes: readonly HttpRoute[], prefix = ''): HttpRouter {
  const router = new Router<HttpState>({ prefix, exclusive: 'specificity', sensitive: true, strict: true });
  for (const [path, served] of byPath(routes)) {
    const pattern = prefix + path;
    const handlers = new Map<string, HttpHandler>(served.map(({ method, serve }) => [method, serve]));
    const allowed = [...handlers.keys(), ...(handlers.has('GET') ? ['HEAD'] : [])].toSorted().join(', ');
    // One entry for all methods of a path: the router compares a request with each entry.
    router.register(path, METHODS, (ctx) => {
      const { method, res, state } = ctx;
      const serve = handlers.get(method === 'HEAD' ? 'GET' : method) ?? handlers.get('any');
      if (serve === undefined) return refuseMethod(res, allowed);
      state.route = pattern;
      return serve(ctx);
    });
  }
  return router;
}

function byPath(routes: readonly HttpRoute[]): ReadonlyMap<string, readonly HttpRoute[]> {
  const found = new Map<string, HttpRoute[]>();
  for (const route of routes) found.set(route.path, [...(found.get(route.path) ?? []), route]);
  return found;
}

function refuseMethod(res: ServerResponse, allowed: string): never {
  res.setHeader('Allow', allowed);
  throw new ServiceError('METHOD_NOT_ALLOWED', `This route takes ${allowed}.`);
}

/**
 * Has the routers match the path as the host read it: the framework's own parser of URLs throws for some that a request
 * may be sent to. They ask for the request's host too, on which no route depends: reading it costs more than routing.
 */
export function routeByTarget(app: Koa<HttpState>): void {
  Object.defineProperties(app.context, {
    host: { value: '' },
    path: {
      get(this: HttpContext): string {
        return this.state.target.path;
      },
    },
  });
}

export const refuseRoute: HttpMiddleware = () => {
  throw new ServiceError('ROUTE_NOT_FOUND');
};
