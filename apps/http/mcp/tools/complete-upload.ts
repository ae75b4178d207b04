import { completeUpload as complete } from '../../../../core/uploads/complete-upload.js';
import { COMPLETE_REQUEST_SCHEMA } from '../../../../core/uploads/request.js';
import { COMPLETED_UPLOAD_SCHEMA, renderCompleted } from '../../render/upload.js';
import { UUID } from '../../render/schema-parts.js';
import { IDEMPOTENCY_KEY, inputOf, readArguments, takeIdempotencyKey, withoutOwn } from '../arguments.js';
import type { Tool } from '../tool.js';
import { dataResult } from '../tool-results.js';

const INPUT = inputOf(
  {
    upload_id: { ...UUID, description: 'Id of the prepared upload.' },
    ...COMPLETE_REQUEST_SCHEMA.properties,
    idempotency_key: IDEMPOTENCY_KEY,
  },
  ['upload_id', 'idempotency_key'],
);

export const completeUpload: Tool = {
  name: 'complete_upload',
  title: 'Complete an upload',
  description: 'Checks and keeps the bytes that were sent. The upload_id can then be used in reference_upload_ids.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: INPUT,
  output: COMPLETED_UPLOAD_SCHEMA,
  scopes: () => ['uploads:write'],
  rate: 'writes',
  async answer(call) {
    const key = takeIdempotencyKey(call.args);
    const args = readArguments<{ upload_id: string }>(call, INPUT);
    const body = withoutOwn(args, ['idempotency_key', 'upload_id']);
    return dataResult(renderCompleted(await complete(call.context, call.caller, key, args.upload_id, body)));
  },
};
