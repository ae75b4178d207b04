import { completeUpload } from '../../../../core/uploads/complete-upload.js';
import { COMPLETE_REQUEST_SCHEMA } from '../../../../core/uploads/request.js';
import { EXAMPLE_UPLOAD } from '../openapi/example-request.js';
import type { ProtectedOperation } from '../operation.js';
import { COMPLETED_UPLOAD_SCHEMA, renderCompleted } from '../../render/upload.js';

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
