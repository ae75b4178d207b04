import type { JsonObject } from '../../../core/json.js';
import type { Settings } from '../../../core/settings.js';
import type { Completed } from '../../../core/uploads/complete-upload.js';
import { type SeenUpload, UPLOAD_STATES } from '../../../core/uploads/manage-uploads.js';
import { PREPARE_REQUEST_SCHEMA, type Prepared, UPLOAD_MEDIA_TYPES } from '../../../core/uploads/prepare-upload.js';
import { record, ROLE, TIMESTAMP, timestamp, UUID } from './schema-parts.js';

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

export const PREPARED_UPLOAD_SCHEMA = record('PreparedUpload', {
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
});

export const COMPLETED_UPLOAD_SCHEMA = record('CompletedUpload', {
  upload_id: UUID,
  media_id: { ...UUID, description: 'Id of the media; not accepted in reference_upload_ids.' },
  status: { type: 'string', enum: ['ready'] },
  media_type: { type: 'string', enum: ['image'], description: 'Kind of media.' },
  byte_size: BYTE_SIZE,
});

export const UPLOAD_SCHEMA = record(
  'Upload',
  {
    upload_id: UUID,
    status: {
      type: 'string',
      enum: [...UPLOAD_STATES],
      description:
        'prepared: its bytes may be sent, and it may be completed. ready: it can be used in reference_upload_ids. expired: it was not completed in time.',
    },
    filename: { type: 'string', description: 'As declared.' },
    media_type: { type: 'string', enum: [...UPLOAD_MEDIA_TYPES], description: 'MIME type, as declared.' },
    byte_size: { ...BYTE_SIZE, description: 'In bytes, as declared.' },
    role: ROLE,
    created_at: TIMESTAMP,
    expires_at: { ...TIMESTAMP, description: 'Until when bytes can be sent and the upload be completed.' },
    media_id: { ...UUID, description: 'Present once ready.' },
    sha256: { type: 'string', description: 'Of the bytes, as 64 lower-case hexadecimal digits; present once ready.' },
    width: { type: 'integer', minimum: 1, description: 'In pixels; present once ready.' },
    height: { type: 'integer', minimum: 1, description: 'In pixels; present once ready.' },
  },
  ['media_id', 'sha256', 'width', 'height'],
);

export function renderUpload({ upload, state }: SeenUpload): object {
  const { ready } = upload;
  return {
    upload_id: upload.uploadId,
    status: state,
    filename: upload.filename,
    media_type: upload.mediaType,
    byte_size: upload.byteSize,
    role: upload.role,
    created_at: timestamp(upload.createdAt),
    expires_at: timestamp(upload.expiresAt),
    ...(ready === undefined
      ? {}
      : { media_id: ready.mediaId, sha256: ready.sha256, width: ready.widthPx, height: ready.heightPx }),
  };
}

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
