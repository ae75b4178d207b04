import { wantedPart } from '../../../adapters/ranged-request.js';
import { ServiceError } from '../../../core/errors.js';
import { inlineDisposition } from '../../../core/object-keys.js';
import type { ObjectStore } from '../../../core/ports/object-store.js';
import type { HttpContext } from './http-context.js';
import { begun, sendText, type StreamedBody, streamBody } from './send.js';

/** A file of the object store, as it is served. Its bytes never change under its key. */
export interface StoredFile {
  readonly objectKey: string;
  readonly byteSize: number;
  readonly sha256: string;
  readonly contentType: string;
}

export interface StoredFileOptions {
  /** The name under which a browser stores it. */
  readonly filename: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The answer to a range behind the end of the file, with its reason phrase. */
  readonly unsatisfiable: { readonly mediaType: string; readonly text: string; readonly reason: string };
}

/**
 * Streams a stored file from whatever object store it is in: all of it, or the part that a Range header asks for, or
 * nothing where the client has it already. Throws GENERATION_JOB_NOT_FOUND where the bytes are gone, before it has sent
 * anything, and `StoreUnavailable`.
 */
export async function sendStoredFile(
  ctx: HttpContext,
  objects: Pick<ObjectStore, 'read'>,
  file: StoredFile,
  { filename, headers = {}, unsatisfiable }: StoredFileOptions,
): Promise<void> {
  const { objectKey, byteSize, sha256, contentType } = file;
  const etag = `"${sha256}"`;
  const wanted = wantedPart({ method: ctx.method, headers: ctx.req.headers }, etag, byteSize);
  const always = { ...headers, 'Accept-Ranges': 'bytes', 'ETag': etag };
  if (wanted.kind === 'unchanged') return streamBody(ctx, { status: 304, headers: always });
  if (wanted.kind === 'unsatisfiable') {
    for (const [name, value] of Object.entries({ ...always, 'Content-Range': `bytes */${byteSize}` }))
      ctx.res.setHeader(name, value);
    ctx.res.statusMessage = unsatisfiable.reason;
    return sendText(ctx, 416, unsatisfiable);
  }
  const range = wanted.kind === 'part' ? { from: wanted.from, to: wanted.to } : { from: 0, to: byteSize };
  const answer: StreamedBody = {
    status: wanted.kind === 'part' ? 206 : 200,
    headers: {
      ...always,
      'Content-Type': contentType,
      'Content-Disposition': inlineDisposition(filename),
      'Content-Length': String(range.to - range.from),
      ...(wanted.kind === 'part' ? { 'Content-Range': `bytes ${range.from}-${range.to - 1}/${byteSize}` } : {}),
    },
  };
  if (ctx.method === 'HEAD') return streamBody(ctx, answer);
  const body = await objects.read(objectKey, wanted.kind === 'part' ? range : undefined);
  if (body === null) throw new ServiceError('GENERATION_JOB_NOT_FOUND', 'The file is no longer kept.');
  return streamBody(ctx, { ...answer, body: await begun(body) });
}
