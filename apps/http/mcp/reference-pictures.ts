import { ServiceError } from '../../../core/errors.js';
import { fieldInvalid } from '../../../core/fields.js';
import type { Context } from '../../../core/context.js';
import type { JsonObject } from '../../../core/json.js';
import { completeUpload } from '../../../core/uploads/complete-upload.js';
import { prepareUpload } from '../../../core/uploads/prepare-upload.js';
import { UPLOAD_MEDIA_TYPES } from '../../../core/uploads/request.js';
import { ROLE } from '../render/schema-parts.js';
import type { ToolCall } from './tool.js';

const MAX_PICTURES = 4;
/** Base64 of a bit more than a megabyte: a message may have two. */
const MAX_CHARACTERS = 1_500_000;

export const REFERENCE_PICTURES = {
  type: 'array',
  maxItems: MAX_PICTURES,
  description:
    'Small reference pictures; use prepare_upload for large ones. Transparent areas of a reference image are made anew, where the model can.',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['data', 'media_type'],
    properties: {
      data: { type: 'string', minLength: 1, maxLength: MAX_CHARACTERS, description: 'The bytes in base64.' },
      media_type: { type: 'string', enum: [...UPLOAD_MEDIA_TYPES] },
      role: { ...ROLE, default: 'reference_image' },
    },
  },
} as const satisfies JsonObject;

export interface ReferencePicture {
  readonly data: string;
  readonly media_type: string;
  readonly role?: string;
}

/**
 * Keeps pictures that came with a call as completed uploads, and answers their ids. The same pictures under the same
 * key are the same uploads, so that a call that is repeated is still the same request. Throws FIELD_INVALID for what is
 * no picture, and what preparing and completing an upload throw.
 */
export async function keepPictures(
  call: ToolCall,
  idempotencyKey: string,
  pictures: readonly ReferencePicture[],
): Promise<string[]> {
  const ids: string[] = [];
  for (const [index, picture] of pictures.entries()) ids.push(await keepPicture(call, idempotencyKey, picture, index));
  return ids;
}

async function keepPicture(
  { context, caller }: ToolCall,
  idempotencyKey: string,
  { data, media_type, role = 'reference_image' }: ReferencePicture,
  index: number,
): Promise<string> {
  const bytes = bytesOf(data, index);
  const { sha256 } = await context.digests.ofBytes(inOnePiece(bytes));
  const key = `mcp-${context.digests.ofJson({ idempotencyKey, index, sha256 })}`;
  const body = { filename: `reference-${index + 1}`, media_type, byte_size: bytes.byteLength, sha256, role };
  const { upload } = await prepareUpload(context, caller, key, body);
  if (upload.status !== 'ready') {
    await write(context, upload.stagingKey, bytes, media_type);
    await completeUpload(context, caller, key, upload.uploadId, {}).catch((error: unknown) => {
      throw atPicture(error, index);
    });
  }
  return upload.uploadId;
}

async function write({ objects }: Context, key: string, bytes: Uint8Array, mediaType: string): Promise<void> {
  await objects.write(key, inOnePiece(bytes), { mediaType, maxBytes: bytes.byteLength });
}

/** The fields of an upload are not among the arguments: the picture as a whole is at fault. */
function atPicture(error: unknown, index: number): unknown {
  return error instanceof ServiceError && error.code === 'FIELD_INVALID'
    ? fieldInvalid(`/reference_pictures/${index}`, `reference_pictures[${index}]: ${error.message}`)
    : error;
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function bytesOf(data: string, index: number): Uint8Array {
  if (!BASE64.test(data))
    throw fieldInvalid(
      `/reference_pictures/${index}/data`,
      `reference_pictures[${index}].data must be base64, without a prefix and without white space.`,
    );
  return Buffer.from(data, 'base64');
}

async function* inOnePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
