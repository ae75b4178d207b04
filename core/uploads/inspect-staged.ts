import type { Context } from '../context.js';
import { fieldInvalid } from '../fields.js';
import type { ServiceError } from '../errors.js';
import type { Upload } from './upload.js';

export interface Staged {
  readonly etag: string;
  readonly sha256: string;
  readonly widthPx: number;
  readonly heightPx: number;
}

/**
 * Looks at the bytes that were sent for an upload. Throws FIELD_INVALID when there are none, or they are not exactly what
 * was declared: length, SHA-256 (at prepare and at completion), type by magic bytes, a header that decodes within limits.
 */
export async function inspectStaged(context: Context, upload: Upload, sha256: string | undefined): Promise<Staged> {
  const { objects, digests, mediaProbe, settings } = context;
  const facts = await objects.stat(upload.stagingKey);
  if (!facts) throw badBytes('No bytes have been sent to the upload target yet.');
  if (facts.byteSize !== upload.byteSize) throw badBytes(`The file must have the ${upload.byteSize} bytes that were declared; it has ${facts.byteSize}.`);

  const digest = await digests.ofBytes(await open(context, upload.stagingKey));
  for (const declared of [upload.declaredSha256, sha256]) {
    if (declared !== undefined && declared !== digest.sha256) throw fieldInvalid('/sha256', 'sha256 must be the SHA-256 of the bytes that were uploaded.');
  }
  const media = await mediaProbe.probe(await open(context, upload.stagingKey), {
    maxBytes: settings.maxUploadBytes,
    maxPixels: settings.maxUploadPixels,
    decode: 'header',
  });
  if ('invalid' in media) throw badBytes(media.invalid);
  if (media.mediaType !== upload.mediaType) throw badBytes(`The file must be ${upload.mediaType}, as was declared; it is ${media.mediaType}.`);
  return { etag: facts.etag, sha256: digest.sha256, widthPx: media.widthPx, heightPx: media.heightPx };
}

async function open(context: Context, key: string): Promise<AsyncIterable<Uint8Array>> {
  const bytes = await context.objects.read(key);
  if (!bytes) throw badBytes('The bytes were replaced while they were being checked; complete the upload again.');
  return bytes;
}

function badBytes(message: string): ServiceError {
  return fieldInvalid('/upload_id', message);
}
