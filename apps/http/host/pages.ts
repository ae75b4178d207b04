import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ServiceError } from '../../../core/errors.js';
import { askedOnce } from '../../requests/asked-once.js';
import { createRouter, type HttpRoute } from './routing.js';
import { sendAnswer } from './send.js';
import type { HttpFront } from './server.js';

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

export const UP = { status: 'up' } as const;
export const READY = { status: 'ready' } as const;

export interface ReadinessParts {
  /** Whether the process's database answers. The object store is not checked: much works without it. */
  readonly readiness: () => Promise<boolean>;
  readonly isStopping: () => boolean;
}

/** A database that does not answer within this does not answer, as far as a probe is concerned. */
const READINESS_TIMEOUT_MS = 4_000;

/**
 * Whether requests should be sent to this process: not before its database answers, and not once it is stopping.
 * However many unauthenticated clients ask, there is only one check of the database at a time.
 */
export function readyWhile({ readiness, isStopping }: ReadinessParts): () => Promise<boolean> {
  const answers = askedOnce(readiness, READINESS_TIMEOUT_MS);
  return async () => !isStopping() && (await answers().catch(() => false));
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
