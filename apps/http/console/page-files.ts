import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ServiceError } from '../../../core/errors.js';
import type { HttpRoute } from '../host/routing.js';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** Where the build puts the page. */
const FOLDER = fileURLToPath(new URL('../../../web/', import.meta.url));

interface Files {
  readonly page: string;
  /** By their names, which have a hash of their content in them. */
  readonly assets: ReadonlyMap<string, Buffer>;
}

/** The files of the built page, read when they are first asked for and kept. A failed read is tried again. */
export class PageFiles {
  private files: Promise<Files> | undefined;

  /** The page itself, as HTML. */
  async page(): Promise<string> {
    return (await this.read()).page;
  }

  /** Scripts and styles of the page: they never change under their name. */
  readonly assetRoute: HttpRoute = {
    method: 'GET',
    path: '/assets/:file',
    serve: async (ctx) => {
      const file = ctx.params['file'] ?? '';
      const bytes = (await this.read()).assets.get(file);
      const mediaType = MEDIA_TYPES[extname(file)];
      if (bytes === undefined || mediaType === undefined) throw new ServiceError('ROUTE_NOT_FOUND');
      ctx.set({ 'Content-Type': mediaType, 'Cache-Control': 'public, max-age=31536000, immutable' });
      ctx.body = bytes;
    },
  };

  private read(): Promise<Files> {
    this.files ??= readFiles().catch((error: unknown) => {
      this.files = undefined;
      throw error;
    });
    return this.files;
  }
}

async function readFiles(): Promise<Files> {
  const page = await readFile(`${FOLDER}index.html`, 'utf8');
  const names = await readdir(`${FOLDER}assets`);
  const assets = await Promise.all(
    names.map(async (name) => [name, await readFile(`${FOLDER}assets/${name}`)] as const),
  );
  return { page, assets: new Map(assets) };
}
