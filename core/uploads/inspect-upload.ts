import type { Context } from '../context.js';
import { fieldInvalid } from '../fields.js';
import type { ServiceError } from '../errors.js';
import type { ObjectFacts, ObjectStore } from '../ports/object-store.js';
import type { Upload } from './upload.js';

type ReadRange = Parameters<ObjectStore['read']>[1];

export type Inspected = Omit<NonNullable<Upload['ready']>, 'mediaId' | 'at'>;

/**
 * The object at the upload target now; FIELD_INVALID if there is none, or if its size differs from the declared one.
 */
export async function stagedFacts(
  { objects }: Pick<Context, 'objects'>,
  upload: Upload,
): Promise<ObjectFacts | { readonly refusal: ServiceError }> {
  const facts = await objects.stat(upload.stagingKey);
  if (!facts) return { refusal: badBytes('No bytes have been sent to the upload target yet.') };
  return facts.byteSize === upload.byteSize ? facts : { refusal: otherLength(upload, facts.byteSize) };
}

/**
 * Looks at a copy of what was sent, which must not be able to change any more. Throws FIELD_INVALID when it is not
 * exactly what was declared: length, SHA-256 (at prepare and at completion), type by magic bytes, a header that decodes
 * within limits, the memory that decoding the rest would take among them.
 */
export async function inspectCopy(
  context: Context,
  upload: Upload,
  objectKey: string,
  sha256: string | undefined,
): Promise<Inspected> {
  const { digests, mediaProbe, settings } = context;
  const digest = await digests.ofBytes(await open(context, objectKey));
  if (digest.byteSize !== upload.byteSize) throw otherLength(upload, digest.byteSize);
  for (const declared of [upload.declaredSha256, sha256]) {
    if (declared !== undefined && declared !== digest.sha256)
      throw fieldInvalid('/sha256', 'sha256 must be the SHA-256 of the bytes that were uploaded.');
  }
  const file = {
    byteSize: upload.byteSize,
    read: async (range?: ReadRange) => open(context, objectKey, range),
  };
  const media = await mediaProbe.probe(file, {
    maxPixels: settings.maxUploadPixels,
    maxDecodeBytes: settings.maxUploadDecodeBytes,
    decode: 'header',
    findsTransparency: true,
    kind: 'image',
  });
  if ('invalid' in media) throw badBytes(media.invalid);
  if (media.mediaType !== upload.mediaType)
    throw badBytes(`The file must be ${upload.mediaType}, as was declared; it is ${media.mediaType}.`);
  const { widthPx, heightPx, contentBytes } = media;
  return {
    sha256: digest.sha256,
    widthPx,
    heightPx,
    ...(contentBytes < upload.byteSize ? { contentBytes } : {}),
    ...(media.kind === 'image' && media.isTransparent === true ? { isMasked: true } : {}),
  };
}

function otherLength(upload: Upload, byteSize: number): ServiceError {
  return badBytes(`The file must have the ${upload.byteSize} bytes that were declared; it has ${byteSize}.`);
}

async function open(
  { objects }: Pick<Context, 'objects'>,
  key: string,
  range?: ReadRange,
): Promise<AsyncIterable<Uint8Array>> {
  const bytes = await objects.read(key, range);
  if (!bytes) throw badBytes('Another request is completing this upload; complete it again.');
  return bytes;
}

function badBytes(message: string): ServiceError {
  return fieldInvalid('/upload_id', message);
}
