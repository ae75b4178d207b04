import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { ServiceError } from '../../../core/errors.js';
import type { HttpContext } from './http-context.js';
import { loadOnce } from './pages.js';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** The endings of the compressed copies that the build writes beside a file, by their content coding, the smallest first. */
const CODINGS = { br: '.br', gzip: '.gz' } as const;
type Coding = keyof typeof CODINGS | 'identity';

interface BuiltFile {
  readonly mediaType: string;
  readonly etag: string;
  /** The bytes in each coding that is smaller than the file itself, and in `identity`. */
  readonly bytes: ReadonlyMap<Coding, Buffer>;
}

/** `hashed`: the name of the file contains a hash of its content. `checked`: browsers ask for changes each time. */
type Caching = 'hashed' | 'checked' | 'no-store';

const CACHE_CONTROL: Readonly<Record<Caching, string>> = {
  'hashed': 'public, max-age=31536000, immutable',
  'checked': 'no-cache',
  'no-store': 'no-store',
};

/** The files of a folder that `npm run build` has written. They are read once, at the first request. */
export class BuiltFiles {
  private readonly files: () => Promise<ReadonlyMap<string, BuiltFile>>;

  constructor(folder: string) {
    this.files = loadOnce(() => readFolder(folder));
  }

  /**
   * Responds with a file, by its path in the folder with `/` as separator, in the smallest coding that the client accepts.
   * Throws ROUTE_NOT_FOUND for a path that is not in the folder.
   */
  async send(ctx: HttpContext, path: string, caching: Caching, status = 200): Promise<void> {
    const file = (await this.files()).get(path);
    if (file === undefined) throw new ServiceError('ROUTE_NOT_FOUND', 'There is no page at this address.');
    ctx.set({ 'Content-Type': file.mediaType, 'Cache-Control': CACHE_CONTROL[caching], 'Vary': 'Accept-Encoding' });
    // Not all at once: of codings that a client likes equally, the framework takes the one that it names first.
    const coding = [...file.bytes.keys()].find((one) => ctx.acceptsEncodings(one) !== false) ?? 'identity';
    if (caching === 'checked') ctx.set('ETag', `W/"${file.etag}"`);
    ctx.status = status;
    if (caching === 'checked' && ctx.fresh) {
      ctx.status = 304;
      return;
    }
    if (coding !== 'identity') ctx.set('Content-Encoding', coding);
    ctx.body = file.bytes.get(coding);
    // The framework would give bytes without a known type that of a download.
    ctx.set('Content-Type', file.mediaType);
  }
}

async function readFolder(folder: string): Promise<ReadonlyMap<string, BuiltFile>> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const contents = new Map(await Promise.all(paths.map(async (path) => [path, await readFile(path)] as const)));
  const files = new Map<string, BuiltFile>();
  for (const [path, bytes] of contents) {
    const mediaType = MEDIA_TYPES[extname(path)];
    if (mediaType === undefined) continue;
    const coded = new Map<Coding, Buffer>();
    for (const [coding, ending] of Object.entries(CODINGS) as [keyof typeof CODINGS, string][]) {
      const copy = contents.get(path + ending);
      if (copy !== undefined && copy.byteLength < bytes.byteLength) coded.set(coding, copy);
    }
    files.set(relative(folder, path).split(sep).join('/'), {
      mediaType,
      etag: createHash('sha256').update(bytes).digest('base64url').slice(0, 22),
      bytes: coded.set('identity', bytes),
    });
  }
  return files;
}
