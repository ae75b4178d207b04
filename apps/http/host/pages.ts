import { readFile } from 'node:fs/promises';
import { ServiceError } from '../../../core/errors.js';
import { READY, type ReadinessParts, readyWhile, UP } from '../../readiness.js';
import { allowOrigin, preflightFromAnyOrigin } from './cors.js';
import type { HttpContext } from './http-context.js';
import { JSON_TYPE, sendAnswer } from './send.js';
import { createRouter, type HttpFront, type HttpHandler, type HttpRoute } from './server.js';

function get(path: string, serve: HttpHandler): HttpRoute {
  return { method: 'GET', path, serve };
}

export interface StaticFile {
  readonly file: string | URL;
  readonly mediaType: string;
}

/** Serves a file that does not change, read at the first request. */
export function serveStaticFile(path: string, { file, mediaType }: StaticFile): HttpRoute {
  const read = loadOnce(() => readFile(file));
  return get(path, async (ctx) => {
    ctx.set({ 'Content-Type': mediaType, 'Cache-Control': 'public, max-age=3600' });
    ctx.body = await read();
  });
}

/** Serves a file of a package, by its path within that. `apps/web/build.mjs` lists the files, and copies them for this. */
export function servePackagedFile(path: string, name: string, file: string, mediaType: string): HttpRoute {
  return serveStaticFile(path, { file: new URL(`../../../packages/${name}/${file}`, import.meta.url), mediaType });
}

/** Serves a text that does not change. */
export function serveText(path: string, headers: Readonly<Record<string, string>>, text: string): HttpRoute {
  return get(path, async (ctx) => {
    ctx.set(headers);
    ctx.body = text;
  });
}

export interface PublicDocument {
  readonly read: () => object;
  readonly mediaType?: string;
  /** Counts a request for its client's address. Throws RATE_LIMITED. */
  readonly take: (ctx: HttpContext) => Promise<void>;
}

/** Serves a public JSON document, which pages of any origin may read: it is the same for everybody. */
export function serveDocument(path: string, { read, mediaType = JSON_TYPE, take }: PublicDocument): HttpRoute[] {
  const serve: HttpHandler = async (ctx) => {
    allowOrigin(ctx.res, '*');
    await take(ctx);
    ctx.set({ 'Cache-Control': 'public, max-age=300', 'Content-Type': mediaType });
    ctx.body = JSON.stringify(read());
  };
  return [get(path, serve), preflightFromAnyOrigin(path, ['GET'])];
}

/** Loads something at the first call and keeps it. A failed load is tried again at the next call. */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}

/**
 * The path under which a proxy publishes the root of this server, which it removes from requests: `/darkroom` for
 * `https://example.org/darkroom`, and empty for a public URL without a path.
 */
export function basePathOf(publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/$/, '');
}

/** The base address in a browser leads to a page of this server. */
export function startPage(path: string, publicUrl: () => string): HttpFront {
  const redirect = get('/', async (ctx) => {
    ctx.status = 302;
    ctx.set({ 'Location': basePathOf(publicUrl()) + path, 'Cache-Control': 'no-store' });
  });
  return () => [createRouter([redirect])];
}

/**
 * `/healthz`: the process answers at all, which says nothing of its database. `/readyz`: requests should be sent here.
 */
export function probes(readiness: ReadinessParts['readiness']): HttpFront {
  return ({ isStopping }) => {
    const isReady = readyWhile({ readiness, isStopping });
    return [
      createRouter([
        get('/healthz', (ctx) => sendAnswer(ctx, 200, { data: UP })),
        get('/readyz', async (ctx) => {
          if (!(await isReady()))
            throw new ServiceError('SERVICE_UNAVAILABLE', 'This process cannot take requests right now.', {
              retryAfterMs: 1_000,
            });
          await sendAnswer(ctx, 200, { data: READY });
        }),
      ]),
    ];
  };
}
