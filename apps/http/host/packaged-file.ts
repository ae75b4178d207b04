import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { HttpRoute } from './routing.js';
import { serveStaticFile } from './static-file.js';

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
