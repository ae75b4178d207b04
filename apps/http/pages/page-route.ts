import type { HttpContext } from '../host/http-context.js';
import type { HttpHandler, HttpRoute } from '../host/routing.js';
import { asPage, redirectTo } from './send-page.js';

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/**
 * Makes routes of pages. A browser that asks for a page by another name of this computer is sent to the public address:
 * its cookies and the origin of its forms belong to one name.
 */
export function pageRoutes(publicUrl: () => string) {
  return (method: HttpRoute['method'], path: string, serve: HttpHandler): HttpRoute => ({
    method,
    path,
    serve: asPage(async (ctx) => {
      if (method === 'GET' && isUnderOtherName(ctx, publicUrl())) redirectTo(ctx, publicUrl() + addressOf(ctx));
      else await serve(ctx);
    }),
  });
}

/** The path with its query. */
export function addressOf({ state }: HttpContext): string {
  const { path, query } = state.target;
  return query === '' ? path : `${path}?${query}`;
}

function isUnderOtherName({ req }: HttpContext, publicUrl: string): boolean {
  const [, own, ownPort] = LOOPBACK.exec(new URL(publicUrl).host) ?? [];
  const [, asked, askedPort] = LOOPBACK.exec(req.headers.host ?? '') ?? [];
  return own !== undefined && asked !== undefined && asked !== own && askedPort === ownPort;
}
