import { timingSafeEqual } from 'node:crypto';
import type { Machine } from '../../../core/context.js';
import type { ServiceError } from '../../../core/errors.js';
import type { Generation } from '../../../core/generation/generation.js';
import { outputFilename } from '../../../core/generation/read-generations.js';
import { preflightFromAnyOrigin } from '../host/cors.js';
import { JSON_TYPE } from '../host/send.js';
import type { HttpRoute } from '../host/server.js';
import { sendStoredFile, type StoredFileOptions } from '../host/stored-file.js';
import { ApiRefusal, errorText } from './errors.js';
import { API_BASE, type ApiParts } from './operation.js';

const FILES = '/files';
/** What `outputFilename` makes. */
const FILENAME = /^([0-9a-f-]{36})-([1-9]\d{0,3})\.[a-z0-9]{1,8}$/;

/**
 * The signed address of an output on the origin of this API, valid as long as those of the other interface. Clients send
 * their key to addresses of the origin that they know, so that this one works with `Authorization` and without.
 */
export function contentUrl(
  { context, publicUrl }: Pick<ApiParts, 'context' | 'publicUrl'>,
  generation: Generation,
  index: number,
): string {
  const filename = outputFilename(generation, index);
  const expires = String(context.clock.now() + context.settings.outputUrlMs);
  const query = new URLSearchParams({ expires, signature: signatureOf(context, filename, expires) });
  return `${publicUrl().replace(/\/+$/, '')}${API_BASE}${FILES}/${filename}?${query.toString()}`;
}

/** The secret is that of the installation, so that every process of it knows the signatures of the others. */
function signatureOf({ digests }: Pick<Machine, 'digests'>, filename: string, expires: string): string {
  return digests.keyed(`address of ${API_BASE}${FILES}/${filename} until ${expires}`);
}

/** The routes of signed addresses. They take no notice of a credential: the signature is what counts. */
export function contentRoutes({ context }: Pick<ApiParts, 'context'>): readonly HttpRoute[] {
  const path = `${FILES}/:filename`;
  return [
    {
      method: 'GET',
      path,
      async serve(ctx) {
        const { filename = '' } = ctx.params;
        requireSignature(context, filename, new URLSearchParams(ctx.state.target.query));
        const [, generationId = '', number = ''] = FILENAME.exec(filename) ?? [];
        const generation = await context.generations.read(generationId);
        const output = generation?.kind === 'generation' ? generation.outputs[Number(number) - 1] : undefined;
        if (generation?.kind !== 'generation' || generation.deletedAt !== undefined || output === undefined)
          throw gone();
        ctx.state.ids = { generationId };
        await sendStoredFile(ctx, context.objects, output, {
          filename,
          headers: FILE_HEADERS,
          unsatisfiable: noSuchRange(output.byteSize),
        });
      },
    },
    preflightFromAnyOrigin(path, ['GET', 'HEAD']),
  ];
}

function requireSignature(context: Machine, filename: string, query: URLSearchParams): void {
  const expires = query.get('expires') ?? '';
  const expected = Buffer.from(signatureOf(context, filename, expires));
  const given = Buffer.from(query.get('signature') ?? '');
  if (given.byteLength !== expected.byteLength || !timingSafeEqual(given, expected))
    throw new ApiRefusal('NOT_FOUND', 'There is nothing at this address; use it exactly as it was answered.', null);
  if (context.clock.now() >= Number(expires))
    throw new ApiRefusal('NOT_FOUND', 'This address has expired; send the request again for a new one.', null);
}

function gone(): ServiceError {
  return new ApiRefusal('NOT_FOUND', 'This file was deleted or is no longer kept.', null);
}

/** Pages of any origin may use the address, and nothing that is served may run in a browser. */
const FILE_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Accept-Ranges, Content-Length, Content-Range, ETag',
  'Cache-Control': 'private, no-cache',
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'Cross-Origin-Resource-Policy': 'cross-origin',
} as const;

/** The answer to a range behind the end of a file. */
export function noSuchRange(byteSize: number): StoredFileOptions['unsatisfiable'] {
  const message = `The file has ${byteSize} bytes; ask for a range of them.`;
  const code = 'range_not_satisfiable';
  const text = errorText({ message, type: 'invalid_request_error', param: null, code });
  return { mediaType: JSON_TYPE, text, reason: code };
}
