import { readIdempotencyKey } from '../../../core/idempotency/claims.js';
import type { JsonObject } from '../../../core/json.js';
import { completeUpload } from '../../../core/uploads/complete-upload.js';
import { deleteUpload, getUpload } from '../../../core/uploads/manage-uploads.js';
import {
  COMPLETE_REQUEST_SCHEMA,
  PREPARE_REQUEST_SCHEMA,
  prepareUpload,
} from '../../../core/uploads/prepare-upload.js';
import { headerValues } from '../host/request.js';
import { sendAnswer } from '../host/send.js';
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
import { type ApiContext, type ProtectedOperation, readEmptyBody, readJson } from './operation.js';

/** A PNG of 64 by 64 pixels of one colour. */
const EXAMPLE_UPLOAD = {
  filename: 'sea.png',
  media_type: 'image/png',
  byte_size: 120,
  sha256: '4c4b90ec1faf1a61fa582f50609311f40dd42dda0ea64ff6651832399b1ab0e5',
  role: 'reference_image',
} as const satisfies JsonObject;

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
  headers: ['IdempotencyKey'],
  responseHeaders: ['Idempotency-Replayed'],
  async serve(ctx) {
    const { context, caller } = ctx.state;
    const idempotencyKey = readIdempotencyKey(headerValues(ctx.req, 'idempotency-key'));
    const body = await readJson(ctx);
    const prepared = await prepareUpload(context, caller, idempotencyKey, body);
    await sendAnswer(ctx, 201, { data: renderPrepared(prepared), replayed: prepared.replayed });
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
  headers: ['IdempotencyKey'],
  responseHeaders: ['Idempotency-Replayed'],
  async serve(ctx) {
    const { context, caller } = ctx.state;
    const idempotencyKey = readIdempotencyKey(headerValues(ctx.req, 'idempotency-key'));
    const body = await readJson(ctx, false);
    const completed = await completeUpload(context, caller, idempotencyKey, idOf(ctx), body);
    await sendAnswer(ctx, 200, { data: renderCompleted(completed), replayed: completed.replayed });
  },
};

export const getUploadOperation: ProtectedOperation = {
  operationId: 'getUpload',
  summary: 'Get the state of an upload',
  status: 200,
  data: UPLOAD_SCHEMA,
  errors: ['NOT_FOUND'],
  async serve(ctx) {
    const { context, caller } = ctx.state;
    await readEmptyBody(ctx);
    await sendAnswer(ctx, 200, { data: renderUpload(await getUpload(context, caller, idOf(ctx))) });
  },
};

export const deleteUploadOperation: ProtectedOperation = {
  operationId: 'deleteUpload',
  summary: 'Delete an upload that was not used',
  description:
    'Removes the upload and its bytes. One that a generation was created with stays until its retention is over.',
  status: 200,
  data: { title: 'DeletedUpload', type: 'object', required: ['upload_id'], properties: { upload_id: UUID } },
  errors: ['NOT_FOUND', 'CONFLICT'],
  async serve(ctx) {
    const { context, caller } = ctx.state;
    await readEmptyBody(ctx);
    const { uploadId } = await deleteUpload(context, caller, idOf(ctx));
    await sendAnswer(ctx, 200, { data: { upload_id: uploadId } });
  },
};

function idOf({ params }: ApiContext): string {
  return params['upload_id'] ?? '';
}
