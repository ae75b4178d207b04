import type { ServerResponse } from 'node:http';
import type { HttpContext } from './http-context.js';
import type { HttpRoute } from './server.js';

/** How long a browser may keep the response to a preflight, in seconds. */
const PREFLIGHT_MAX_AGE_SECONDS = 3_600;

/** Names of headers, separated by commas. */
const HEADER_NAMES = /^[\w\-, \t]+$/;

/**
 * Lets pages of an origin read the response, and the headers in `exposed` beside those that every page may read. `*`
 * stands for every origin; browsers then send no cookies.
 */
export function allowOrigin(res: ServerResponse, origin: string, exposed: readonly string[] = []): void {
  res.setHeader('Access-Control-Allow-Origin', origin);
  if (origin !== '*') res.appendHeader('Vary', 'Origin');
  if (exposed.length > 0) res.setHeader('Access-Control-Expose-Headers', exposed.join(', '));
}

/**
 * Responds to the request that a browser sends before a page of another origin may send its own. All headers that the
 * page wants to send are allowed: those that count are checked when they arrive.
 */
export function answerPreflight(ctx: HttpContext, origin: string, methods: readonly string[]): void {
  const { req, res } = ctx;
  const wanted = req.headers['access-control-request-headers'];
  allowOrigin(res, origin);
  res.setHeader('Access-Control-Allow-Methods', methods.join(', '));
  if (typeof wanted === 'string' && HEADER_NAMES.test(wanted)) res.setHeader('Access-Control-Allow-Headers', wanted);
  res.setHeader('Access-Control-Max-Age', PREFLIGHT_MAX_AGE_SECONDS);
  ctx.status = 204;
}

/** The preflights of a path whose responses pages of every origin may read. */
export function preflightFromAnyOrigin(path: string, methods: readonly string[]): HttpRoute {
  return { method: 'OPTIONS', path, serve: async (ctx) => answerPreflight(ctx, '*', methods) };
}
