import { completeUpload } from '../../../core/uploads/complete-upload.js';
import { deleteUpload, getUpload } from '../../../core/uploads/manage-uploads.js';
import {
  COMPLETE_REQUEST_SCHEMA,
  PREPARE_REQUEST_SCHEMA,
  prepareUpload,
} from '../../../core/uploads/prepare-upload.js';
import { UUID } from '../render/schema-parts.js';
import {
  COMPLETED_UPLOAD_SCHEMA,
  limitedPrepareSchema,
  PREPARED_UPLOAD_SCHEMA,
  renderCompleted,
  renderPrepared,
  renderUpload,
  UPLOAD_SCHEMA,
} from '../render/upload.js';
import { EXAMPLE_UPLOAD } from './generations.js';
import type { ProtectedOperation } from './operation.js';

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

export const completeUploadOperation: ProtectedOperation = {
  operationId: 'completeUpload',
  summary: 'Complete an upload after its bytes were sent',
  description: 'Checks and keeps the bytes. The upload_id can then be used in reference_upload_ids.',
  status: 200,
  data: COMPLETED_UPLOAD_SCHEMA,
  body: {
    schema: COMPLETE_REQUEST_SCHEMA,
    schemaName: 'CompleteUploadRequest',
    required: false,
    example: { sha256: EXAMPLE_UPLOAD.sha256 },
  },
  errors: [
    'FIELD_INVALID',
    'IDEMPOTENCY_PAYLOAD_MISMATCH',
    'IDEMPOTENCY_IN_PROGRESS',
    'IDEMPOTENCY_REPLAY_EXPIRED',
    'UPLOAD_URL_EXPIRED',
  ],
  async answer({ context, caller, idempotencyKey, body, params }) {
    const completed = await completeUpload(context, caller, idempotencyKey, params['upload_id'] ?? '', body);
    return { data: renderCompleted(completed), replayed: completed.replayed };
  },
};

export const getUploadOperation: ProtectedOperation = {
  operationId: 'getUpload',
  summary: 'Get the state of an upload',
  status: 200,
  data: UPLOAD_SCHEMA,
  errors: ['NOT_FOUND'],
  answer: async ({ context, caller, params }) => ({
    data: renderUpload(await getUpload(context, caller, params['upload_id'] ?? '')),
  }),
};

export const deleteUploadOperation: ProtectedOperation = {
  operationId: 'deleteUpload',
  summary: 'Delete an upload that was not used',
  description:
    'Removes the upload and its bytes. One that a generation was created with stays until its retention is over.',
  status: 200,
  data: { title: 'DeletedUpload', type: 'object', required: ['upload_id'], properties: { upload_id: UUID } },
  errors: ['NOT_FOUND', 'CONFLICT'],
  async answer({ context, caller, params }) {
    const { uploadId } = await deleteUpload(context, caller, params['upload_id'] ?? '');
    return { data: { upload_id: uploadId } };
  },
};
