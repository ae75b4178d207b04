import { ServiceError } from '../errors.js';
import { readBody } from '../fields.js';
import type { Json, JsonObject } from '../json.js';
import type { ReferenceRole } from '../generation/generation.js';
import type { Ports } from '../ports/tokens.js';
import type { Settings } from '../settings.js';

export const UPLOAD_MEDIA_TYPES = ['image/png', 'image/jpeg', 'image/webp'] as const;

const SHA256 = { type: 'string', pattern: '^[0-9A-Fa-f]{64}$', description: 'SHA-256 of the file, in hex.' } as const;

/** The body of prepare. Allowed types and sizes are checked after the shape, with separate codes. */
export const PREPARE_REQUEST_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['filename', 'media_type', 'byte_size', 'role'],
  properties: {
    filename: {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      pattern: '^[^\\u0000-\\u001f\\u007f/\\\\]+$',
      description: 'File name, without a path.',
    },
    media_type: {
      type: 'string',
      minLength: 1,
      maxLength: 128,
      description: 'MIME type of the file: image/png, image/jpeg or image/webp.',
    },
    byte_size: {
      type: 'integer',
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Size of the file in bytes.',
    },
    sha256: SHA256,
    role: {
      type: 'string',
      enum: ['reference_image', 'start_frame', 'end_frame'],
      description: 'Role of the file.',
    },
  },
} as const satisfies JsonObject;

export const COMPLETE_REQUEST_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: { sha256: SHA256 },
} as const satisfies JsonObject;

const WORDING = {
  '/filename': 'filename must be 1 to 255 characters, without slashes, backslashes and control characters.',
  '/sha256': 'sha256 must be 64 hexadecimal digits.',
} as const;

export interface PrepareRequest {
  /** The body without null fields: what the digest under an idempotency key is of. */
  readonly content: JsonObject;
  readonly filename: string;
  readonly mediaType: string;
  readonly byteSize: number;
  readonly sha256?: string;
  readonly role: ReferenceRole;
}

interface PrepareBody {
  filename: string;
  media_type: string;
  byte_size: number;
  sha256?: string;
  role: ReferenceRole;
}

/** Throws FIELD_REQUIRED, FIELD_INVALID, UPLOAD_FILE_TOO_LARGE and UPLOAD_TYPE_NOT_ALLOWED, in that order. */
export function readPrepareRequest(ports: Pick<Ports, 'jsonSchemas'>, settings: Settings, body: Json): PrepareRequest {
  const fields = readBody<PrepareBody>(ports, PREPARE_REQUEST_SCHEMA, body, WORDING);
  if (fields.byte_size > settings.maxUploadBytes) {
    throw new ServiceError('UPLOAD_FILE_TOO_LARGE', `Files may have at most ${settings.maxUploadBytes} bytes.`, {
      pointer: '/byte_size',
    });
  }
  if (!UPLOAD_MEDIA_TYPES.some((type) => type === fields.media_type)) {
    throw new ServiceError('UPLOAD_TYPE_NOT_ALLOWED', `media_type must be one of ${UPLOAD_MEDIA_TYPES.join(', ')}.`, {
      pointer: '/media_type',
    });
  }
  return {
    content: fields,
    filename: fields.filename,
    mediaType: fields.media_type,
    byteSize: fields.byte_size,
    ...(fields.sha256 === undefined ? {} : { sha256: fields.sha256.toLowerCase() }),
    role: fields.role,
  };
}

export interface CompleteRequest {
  /** The body without null fields. */
  readonly content: JsonObject;
  /** The checksum it declares, in lower case. */
  readonly sha256?: string;
}

/** Throws FIELD_INVALID. */
export function readCompleteRequest(ports: Pick<Ports, 'jsonSchemas'>, body: Json): CompleteRequest {
  const fields = readBody<{ sha256?: string }>(ports, COMPLETE_REQUEST_SCHEMA, body, WORDING);
  return { content: fields, ...(fields.sha256 === undefined ? {} : { sha256: fields.sha256.toLowerCase() }) };
}
