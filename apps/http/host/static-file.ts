import { readFile } from 'node:fs/promises';
import type { HttpRoute } from './routing.js';

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
