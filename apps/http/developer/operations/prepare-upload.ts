import { prepareUpload } from '../../../../core/uploads/prepare-upload.js';
import { PREPARE_REQUEST_SCHEMA } from '../../../../core/uploads/request.js';
import { EXAMPLE_UPLOAD } from '../openapi/example-request.js';
import type { ProtectedOperation } from '../operation.js';
import { limitedPrepareSchema, PREPARED_UPLOAD_SCHEMA, renderPrepared } from '../../render/upload.js';

export const prepareUploadOperation: ProtectedOperation = {
  operationId: 'prepareUpload',
  summary: 'Prepare the upload of a reference file',
  description:
    'Send the bytes to upload_url with exactly the method and headers of the answer, and without the Authorization header.',
  status: 201,
  data: PREPARED_UPLOAD_SCHEMA,
  body: {
    schema: PREPARE_REQUEST_SCHEMA,
    schemaName: 'PrepareUploadRequest',
    required: true,
    limited: limitedPrepareSchema,
    example: EXAMPLE_UPLOAD,
  },
  errors: [
    'FIELD_REQUIRED',
    'FIELD_INVALID',
    'UPLOAD_FILE_TOO_LARGE',
    'UPLOAD_TYPE_NOT_ALLOWED',
    'IDEMPOTENCY_PAYLOAD_MISMATCH',
    'IDEMPOTENCY_IN_PROGRESS',
    'IDEMPOTENCY_REPLAY_EXPIRED',
    'QUEUE_FULL',
  ],
  async answer({ context, caller, idempotencyKey, body }) {
    const prepared = await prepareUpload(context, caller, idempotencyKey, body);
    return { data: renderPrepared(prepared), replayed: prepared.replayed };
  },
};
