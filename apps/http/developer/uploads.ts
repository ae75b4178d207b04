import type { Files, Machine, Models, Work } from '../../../core/context.js';
import type { JsonObject } from '../../../core/json.js';
import { completeUpload } from '../../../core/uploads/complete-upload.js';
import { deleteUpload, getUpload } from '../../../core/uploads/manage-uploads.js';
import {
  COMPLETE_REQUEST_SCHEMA,
  PREPARE_REQUEST_SCHEMA,
  prepareUpload,
} from '../../../core/uploads/prepare-upload.js';
import {
  COMPLETED_UPLOAD_SCHEMA,
  limitedPrepareSchema,
  PREPARED_UPLOAD_SCHEMA,
  renderCompleted,
  renderPrepared,
  renderUpload,
  UPLOAD_SCHEMA,
} from '../render/upload.js';
import { read, readJson, readKey, removedSchema, type Route, write } from './operation.js';

/** A PNG of 64 by 64 pixels of one colour. */
const EXAMPLE_UPLOAD = {
  filename: 'sea.png',
  media_type: 'image/png',
  byte_size: 120,
  sha256: '4c4b90ec1faf1a61fa582f50609311f40dd42dda0ea64ff6651832399b1ab0e5',
  role: 'reference_image',
} as const satisfies JsonObject;

/** Uploads of reference files. */
export const UPLOAD_ROUTES: readonly Route<Work & Files & Models & Machine>[] = [
  write('POST', '/uploads', 'uploads:write', {
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
    async answer({ context, caller }, ctx) {
      const key = readKey(ctx);
      const prepared = await prepareUpload(context, caller, key, await readJson(ctx));
      return { data: renderPrepared(prepared), replayed: prepared.replayed };
    },
  }),
  read('GET', '/uploads/:upload_id', 'uploads:write', {
    operationId: 'getUpload',
    summary: 'Get the state of an upload',
    status: 200,
    data: UPLOAD_SCHEMA,
    errors: ['NOT_FOUND'],
    answer: async ({ context, caller }, ctx) => ({
      data: renderUpload(await getUpload(context, caller, ctx.params.upload_id)),
    }),
  }),
  write('DELETE', '/uploads/:upload_id', 'uploads:write', {
    operationId: 'deleteUpload',
    summary: 'Delete an upload that was not used',
    description:
      'Removes the upload and its bytes. One that a generation was created with stays until its retention is over.',
    status: 200,
    data: removedSchema('DeletedUpload', 'upload_id'),
    errors: ['NOT_FOUND', 'CONFLICT'],
    async answer({ context, caller }, ctx) {
      const { uploadId } = await deleteUpload(context, caller, ctx.params.upload_id);
      return { data: { upload_id: uploadId } };
    },
  }),
  write('POST', '/uploads/:upload_id/complete', 'uploads:write', {
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
    async answer({ context, caller }, ctx) {
      const key = readKey(ctx);
      const completed = await completeUpload(context, caller, key, ctx.params.upload_id, await readJson(ctx, false));
      return { data: renderCompleted(completed), replayed: completed.replayed };
    },
  }),
];
