import type { Completed } from '../../../core/uploads/complete-upload.js';
import type { Prepared } from '../../../core/uploads/prepare-upload.js';
import { PREPARE_REQUEST_SCHEMA, UPLOAD_MEDIA_TYPES } from '../../../core/uploads/request.js';
import type { JsonObject } from '../../../core/json.js';
import type { Settings } from '../../../core/settings.js';
import type { TitledSchema } from './titled-schema.js';
import { ROLE, TIMESTAMP, UUID } from './schema-parts.js';
import { timestamp } from './timestamp.js';

const BYTE_SIZE: JsonObject = { type: 'integer', minimum: 1 };

/** The body of prepare with what is refused with UPLOAD_TYPE_NOT_ALLOWED and UPLOAD_FILE_TOO_LARGE. */
export function limitedPrepareSchema({ maxUploadBytes }: Pick<Settings, 'maxUploadBytes'>): JsonObject {
  const { properties } = PREPARE_REQUEST_SCHEMA;
  return {
    ...PREPARE_REQUEST_SCHEMA,
    properties: {
      ...properties,
      media_type: { type: 'string', enum: [...UPLOAD_MEDIA_TYPES], description: 'MIME type of the file.' },
      byte_size: { ...properties.byte_size, maximum: maxUploadBytes },
    },
  };
}

export const PREPARED_UPLOAD_SCHEMA: TitledSchema = {
  title: 'PreparedUpload',
  type: 'object',
  required: ['upload_id', 'upload_url', 'method', 'required_headers', 'expires_at', 'media_type', 'byte_size', 'role'],
  properties: {
    upload_id: { ...UUID, description: 'Use it in reference_upload_ids.' },
    upload_url: { type: 'string', description: 'Signed URL; it expires.' },
    method: { type: 'string', enum: ['PUT'] },
    required_headers: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Headers that must be sent with the bytes, exactly as given.',
    },
    expires_at: TIMESTAMP,
    media_type: { type: 'string', enum: [...UPLOAD_MEDIA_TYPES] },
    byte_size: BYTE_SIZE,
    role: ROLE,
  },
};

export const COMPLETED_UPLOAD_SCHEMA: TitledSchema = {
  title: 'CompletedUpload',
  type: 'object',
  required: ['upload_id', 'media_id', 'status', 'media_type', 'byte_size'],
  properties: {
    upload_id: UUID,
    media_id: { ...UUID, description: 'Id of the media; not accepted in reference_upload_ids.' },
    status: { type: 'string', enum: ['ready'] },
    media_type: { type: 'string', enum: ['image'], description: 'Kind of media.' },
    byte_size: BYTE_SIZE,
  },
};

export function renderPrepared({ upload, target }: Prepared): object {
  return {
    upload_id: upload.uploadId,
    upload_url: target.url,
    method: target.method,
    required_headers: target.headers,
    expires_at: timestamp(upload.expiresAt),
    media_type: upload.mediaType,
    byte_size: upload.byteSize,
    role: upload.role,
  };
}

/** Only images can be uploaded, so the kind is always the same. */
export function renderCompleted({ upload }: Completed): object {
  return {
    upload_id: upload.uploadId,
    media_id: upload.ready.mediaId,
    status: upload.status,
    media_type: 'image',
    byte_size: upload.byteSize,
  };
}
