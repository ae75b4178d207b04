import type { SignedRequest } from '../../../../core/ports/object-store.js';
import { prepareUpload as prepare } from '../../../../core/uploads/prepare-upload.js';
import { PREPARE_REQUEST_SCHEMA } from '../../../../core/uploads/request.js';
import { PREPARED_UPLOAD_SCHEMA, renderPrepared } from '../../render/upload.js';
import { IDEMPOTENCY_KEY, inputOf, readArguments, takeIdempotencyKey, withoutOwn } from '../arguments.js';
import type { Tool } from '../tool.js';
import { dataResult } from '../tool-results.js';

const INPUT = inputOf({ ...PREPARE_REQUEST_SCHEMA.properties, idempotency_key: IDEMPOTENCY_KEY }, [
  ...PREPARE_REQUEST_SCHEMA.required,
  'idempotency_key',
]);

export const prepareUpload: Tool = {
  name: 'prepare_upload',
  title: 'Prepare the upload of a reference picture',
  description:
    'Prepares the upload of one file. Send its bytes with the curl command of the answer, then call complete_upload, then use the upload_id in reference_upload_ids.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: INPUT,
  output: PREPARED_UPLOAD_SCHEMA,
  scopes: () => ['uploads:write'],
  rate: 'writes',
  async answer(call) {
    const key = takeIdempotencyKey(call.args);
    const body = withoutOwn(readArguments(call, INPUT), ['idempotency_key']);
    const prepared = await prepare(call.context, call.caller, key, body);
    const { content, ...rest } = dataResult(renderPrepared(prepared));
    return {
      ...rest,
      content: [{ type: 'text', text: curlOf(prepared.target, prepared.upload.filename) }, ...content],
    };
  },
};

/** A command for a POSIX shell with all headers that the signature covers. */
function curlOf({ url, method, headers }: SignedRequest, filename: string): string {
  const words = [
    'curl',
    '--fail',
    '--request',
    method,
    ...Object.entries(headers).flatMap(([name, value]) => ['--header', quoted(`${name}: ${value}`)]),
    '--data-binary',
    quoted(`@./${filename}`),
    quoted(url),
  ];
  return words.join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
