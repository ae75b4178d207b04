import { createHash } from 'node:crypto';
import type { Caller } from '../../../core/access/credential.js';
import type { Model } from '../../../core/catalog/model.js';
import type { Files, Machine, Models, Work } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import type { ReferenceRole } from '../../../core/generation/generation.js';
import { type ImageForm, MAX_HEADER_BYTES, readImageHeader } from '../../../core/media/image-header.js';
import { extensionOf, type ImageType } from '../../../core/media/media-types.js';
import type { ProbedFile } from '../../../core/ports/media.js';
import { deleteUpload } from '../../../core/uploads/manage-uploads.js';
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
export function typeOfPicture(head: Uint8Array, param: string, kinds = 'PNG, JPEG or WebP'): ImageType {
  const header = readImageHeader(head.subarray(0, MAX_HEADER_BYTES));
  if (typeof header === 'object') return TYPES[header.form];
  // A colour profile may make the header of a JPEG longer. What is not one after all is found when it is stored.
  if (header === 'more' && head[0] === 0xff) return 'image/jpeg';
  throw new ApiRefusal('UPLOAD_TYPE_NOT_ALLOWED', `${param} must be a ${kinds} picture.`, param);
}

/** How long the beginning of a `data:` address may be, up to its comma. */
const MAX_ADDRESS_HEAD = 300;
/** How long a `data:` address may be that has so many bytes. */
export function longestAddress(byteSize: number): number {
  return MAX_ADDRESS_HEAD + Math.ceil(byteSize / 3) * 4;
}

/**
 * The picture that a file has, or a text that is a `data:` address. Throws `invalid_value` for any other
 * address, none of which is fetched, and `invalid_image_format`.
 */
export async function pictureIn(sent: ProbedFile, param: string, kinds?: string): Promise<SentFile> {
  const head = Buffer.concat(await all(sent, { from: 0, to: Math.min(sent.byteSize, MAX_HEADER_BYTES) }));
  const start = head.toString('latin1', 0, MAX_ADDRESS_HEAD);
  if (!/^[a-z][a-z\d+.-]+:/i.test(start)) {
    const bytes = () => bytesOf(sent);
    return described({ bytes, head, param, kinds });
  }
  const from = /^data:[^,]*;base64,/i.exec(start)?.[0].length;
  if (from === undefined) throw otherAddress(param);
  const bytes = () => decoded(bytesOf(sent, { from, to: sent.byteSize }), param);
  for await (const first of bytes()) return described({ bytes, head: first, param, kinds });
  throw otherAddress(param);
}

function otherAddress(param: string): ApiRefusal {
  const message = `${param} must be a file, or a picture as a data: URL with base64; other addresses are not read.`;
  return new ApiRefusal('FIELD_INVALID', message, param);
}

interface Found extends Pick<SentFile, 'bytes'> {
  readonly head: Uint8Array;
  readonly param: string;
  readonly kinds: string | undefined;
}

async function described({ bytes, head, param, kinds }: Found): Promise<SentFile> {
  const mediaType = typeOfPicture(head, param, kinds);
  const hash = createHash('sha256');
  let byteSize = 0;
  for await (const piece of bytes()) {
    hash.update(piece);
    byteSize += piece.byteLength;
  }
  return { filename: `${param}.${extensionOf(mediaType)}`, mediaType, byteSize, sha256: hash.digest('hex'), bytes };
}

type Range = { readonly from: number; readonly to: number };

async function* bytesOf(sent: ProbedFile, range?: Range): AsyncGenerator<Uint8Array> {
  yield* await sent.read(range);
}

async function all(sent: ProbedFile, range: Range): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bytesOf(sent, range)) pieces.push(piece);
  return pieces;
}

/** Decodes base64 in pieces. The first one has the header of most pictures. Throws `invalid_value` where it is none. */
async function* decoded(text: AsyncIterable<Uint8Array>, param: string): AsyncGenerator<Uint8Array> {
  let waiting = '';
  for await (const piece of text) {
    waiting += Buffer.from(piece).toString('latin1');
    if (waiting.length < DECODED_AT_ONCE) continue;
    // The last characters may be padding, which ends the text.
    const whole = waiting.slice(0, waiting.length - (waiting.length % 4) - 4);
    if (!/^[a-z\d+/]*$/i.test(whole)) throw otherAddress(param);
    yield Buffer.from(whole, 'base64');
    waiting = waiting.slice(whole.length);
  }
  if (!/^[a-z\d+/]*={0,2}$/i.test(waiting)) throw otherAddress(param);
  if (waiting !== '') yield Buffer.from(waiting, 'base64');
}

/** In characters: as many bytes as the header of a picture may have. */
const DECODED_AT_ONCE = Math.ceil(MAX_HEADER_BYTES / 3) * 4 + 8;

/**
 * Does the work of a create, and removes the uploads that it has put into the list if it is refused. Of any other failure
 * it is not known whether a generation uses them.
 */
export async function orRemoveUploads<T>(
  context: Work & Files & Machine,
  caller: Caller,
  work: (uploadIds: string[]) => Promise<T>,
): Promise<T> {
  const uploadIds: string[] = [];
  try {
    return await work(uploadIds);
  } catch (error) {
    if (error instanceof ServiceError && !['SERVICE_UNAVAILABLE', 'INTERNAL_ERROR'].includes(error.code))
      await Promise.allSettled(uploadIds.map((id) => deleteUpload(context, caller, id)));
    throw error;
  }
}

/** Makes an upload of a picture that a model takes. Returns its id; refusals name `param`. */
export async function takePicture(
  context: Work & Files & Models & Machine,
  caller: Caller,
  model: Model,
  picture: SentFile,
  { role, param }: { readonly role: ReferenceRole; readonly param: string },
): Promise<string> {
  requireTaken(model, picture, param);
  return takeFile(context, caller, picture, role).catch((error: unknown) => refuse(error, param));
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
