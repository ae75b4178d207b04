import { createHash } from 'node:crypto';
import type { Caller } from '../../../core/access/credential.js';
import type { Model } from '../../../core/catalog/model.js';
import type { Files, Machine, Models, Work } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import type { ReferenceRole } from '../../../core/generation/generation.js';
import { type ImageForm, MAX_HEADER_BYTES, readImageHeader } from '../../../core/media/image-header.js';
import { extensionOf, type ImageType } from '../../../core/media/media-types.js';
import { type SentFile, takeFile } from '../../../core/uploads/take-file.js';
import { ApiRefusal } from './errors.js';

const TYPES: Readonly<Record<ImageForm, ImageType>> = {
  'PNG': 'image/png',
  'interlaced PNG': 'image/png',
  'JPEG': 'image/jpeg',
  'progressive JPEG': 'image/jpeg',
  'WebP': 'image/webp',
};

/**
 * The type of a picture by its first bytes, of which `MAX_HEADER_BYTES` are enough: clients declare any type. Throws
 * `invalid_image_format`.
 */
export function typeOfPicture(head: Uint8Array, param: string): ImageType {
  const header = readImageHeader(head.subarray(0, MAX_HEADER_BYTES));
  if (typeof header === 'object') return TYPES[header.form];
  throw new ApiRefusal('UPLOAD_TYPE_NOT_ALLOWED', `${param} must be a PNG, JPEG or WebP picture.`, param);
}

/** The picture in a `data:` address. Throws `invalid_value` for any other address, and `invalid_image_format`. */
export function pictureInAddress(address: unknown, param: string): SentFile {
  const [, encoded = ''] = /^data:[^,]{0,200};base64,([A-Za-z0-9+/]+={0,2})$/i.exec(String(address)) ?? [];
  if (typeof address !== 'string' || encoded === '') {
    const message = `${param} must be a file, or a picture as a data: URL with base64; other addresses are not read.`;
    throw new ApiRefusal('FIELD_INVALID', message, param);
  }
  const content = Buffer.from(encoded, 'base64');
  const mediaType = typeOfPicture(content, param);
  return {
    filename: `${param}.${extensionOf(mediaType)}`,
    mediaType,
    byteSize: content.byteLength,
    sha256: createHash('sha256').update(content).digest('hex'),
    async *bytes() {
      yield content;
    },
  };
}

/** Makes uploads of pictures that a model takes. Returns their ids; refusals name `param`. */
export async function takePictures(
  context: Work & Files & Models & Machine,
  caller: Caller,
  model: Model,
  pictures: readonly SentFile[],
  { role, param }: { readonly role: ReferenceRole; readonly param: string },
): Promise<string[]> {
  const ids: string[] = [];
  for (const picture of pictures) {
    requireTaken(model, picture, param);
    ids.push(await takeFile(context, caller, picture, role).catch((error: unknown) => refuse(error, param)));
  }
  return ids;
}

/** The catalog may have other models that take what this one does not. */
function requireTaken({ modelKey, limits }: Model, { mediaType, byteSize }: SentFile, param: string): void {
  const { uploadMediaTypes: types, maxUploadBytes } = limits;
  if (!types.includes(mediaType))
    throw new ApiRefusal('UPLOAD_TYPE_NOT_ALLOWED', `${modelKey} takes ${types.join(', ')}.`, param);
  if (byteSize > maxUploadBytes)
    throw new ApiRefusal('UPLOAD_FILE_TOO_LARGE', `${modelKey} takes at most ${maxUploadBytes} bytes.`, param);
}

function refuse(error: unknown, param: string): never {
  const isOfFile = error instanceof ServiceError && error.details.pointer !== undefined;
  throw isOfFile ? new ApiRefusal(error.code, error.message, param) : error;
}
