import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { HttpRoute } from './routing.js';

export interface PackagedFile {
  readonly package: string;
  /** Its path within the package. */
  readonly file: string;
  readonly mediaType: string;
}

/** Serves a file of an installed package, read at the first request and kept. A failed read is tried again. */
export function servePackagedFile(path: string, { package: name, file, mediaType }: PackagedFile): HttpRoute {
  const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  let bytes: Promise<Buffer> | undefined;
  return {
    method: 'GET',
    path,
    async serve(ctx) {
      bytes ??= readFile(join(folder, file)).catch((error: unknown) => {
        bytes = undefined;
        throw error;
      });
      ctx.set({ 'Content-Type': mediaType, 'Cache-Control': 'public, max-age=3600' });
      ctx.body = await bytes;
    },
  };
}
