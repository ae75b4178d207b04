import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ServiceError } from '../../../core/errors.js';
import { READY, type ReadinessParts, readyWhile, UP } from '../../readiness.js';
import { sendAnswer } from './send.js';
import { createRouter, type HttpFront, type HttpRoute } from './server.js';

export interface StaticFile {
  readonly file: string | URL;
  readonly mediaType: string;
}

/** Serves a file that stays as it is, read at the first request and kept. A failed read is tried again. */
export function serveStaticFile(path: string, { file, mediaType }: StaticFile): HttpRoute {
  let bytes: Promise<Buffer> | undefined;
  return {
    method: 'GET',
    path,
    async serve(ctx) {
      bytes ??= readFile(file).catch((error: unknown) => {
        bytes = undefined;
        throw error;
      });
      ctx.set({ 'Content-Type': mediaType, 'Cache-Control': 'public, max-age=3600' });
      ctx.body = await bytes;
    },
  };
}

export interface PackagedFile {
  readonly package: string;
  /** Its path within the package. */
  readonly file: string;
  readonly mediaType: string;
}

/** Serves a file of an installed package. */
export function servePackagedFile(path: string, { package: name, file, mediaType }: PackagedFile): HttpRoute {
  const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  return serveStaticFile(path, { file: join(folder, file), mediaType });
}

/** The base address in a browser leads to a page of this server. */
export function startPage(path: string): HttpFront {
  return () => [
    createRouter([
      {
        method: 'GET',
        path: '/',
        async serve(ctx) {
          ctx.status = 302;
          ctx.set({ 'Location': path, 'Cache-Control': 'no-store' });
        },
      },
    ]),
  ];
}

/**
 * `/healthz`: the process answers at all, which says nothing of its database. `/readyz`: requests should be sent here.
 */
export function probes(readiness: ReadinessParts['readiness']): HttpFront {
  return ({ isStopping }) => {
    const isReady = readyWhile({ readiness, isStopping });
    return [
      createRouter([
        { method: 'GET', path: '/healthz', serve: (ctx) => sendAnswer(ctx, 200, { data: UP }) },
        {
          method: 'GET',
          path: '/readyz',
          serve: async (ctx) => {
            if (!(await isReady()))
              throw new ServiceError('SERVICE_UNAVAILABLE', 'This process cannot take requests right now.', {
                retryAfterMs: 1_000,
              });
            await sendAnswer(ctx, 200, { data: READY });
          },
        },
      ]),
    ];
  };
}
