import { textOf } from '../../../history/values.js';
import type { Finding } from '../../../history/finding.js';
import type { AtRest } from '../history.js';
import { isSuccess, told, type Known } from '../known.js';

type UploadAtRest = AtRest['uploads'][number];

/** Invariant 16: a ready upload is the bytes that its client declared and sent, and they still stand. */
export function* checkUploads(known: Known): Iterable<Finding> {
  const uploads = new Map(known.history.atRest.uploads.map((upload) => [upload.record.uploadId, upload]));
  const sent = new Map<string, Set<string>>();
  for (const { request } of known.history.exchanges) {
    if (request.operation === 'put')
      sent.set(
        request.uploadId,
        (sent.get(request.uploadId) ?? new Set()).add(`${request.sha256} ${request.byteSize}`),
      );
  }
  for (const exchange of known.answered('complete')) {
    if (!isSuccess(exchange)) continue;
    const { data = {} } = exchange.answer;
    const upload = uploads.get(exchange.request.uploadId);
    if (!upload) {
      yield { invariant: 16, sentence: `${told(exchange)} was said to be ready, and is not on record` };
      continue;
    }
    const { record } = upload;
    const ready = record.kind === 'upload' && record.status === 'ready' ? record.ready : undefined;
    if (data['status'] !== 'ready' || data['media_id'] !== ready?.mediaId || data['upload_id'] !== record.uploadId) {
      yield {
        invariant: 16,
        sentence: `${told(exchange)} was answered with ${textOf(data)}, and it is ${record.kind === 'upload' ? record.status : record.kind} as ${ready?.mediaId}`,
      };
    }
    const declared = exchange.request.body['sha256'];
    if (ready && typeof declared === 'string' && declared !== ready.sha256)
      yield { invariant: 16, sentence: `${told(exchange)} declared ${declared}, and is ready as ${ready.sha256}` };
    if (record.kind === 'upload' && data['byte_size'] !== record.byteSize)
      yield {
        invariant: 16,
        sentence: `${told(exchange)} was said to have ${textOf(data['byte_size'])} bytes, and has ${record.byteSize}`,
      };
  }
  for (const upload of uploads.values()) yield* checkBytes(upload, sent);
}

function* checkBytes(
  { record, stored }: UploadAtRest,
  sent: ReadonlyMap<string, ReadonlySet<string>>,
): Iterable<Finding> {
  if (record.kind !== 'upload' || record.status !== 'ready') return;
  const { uploadId, byteSize, declaredSha256, ready } = record;
  if (!ready) {
    yield { invariant: 16, sentence: `upload ${uploadId} is ready with nothing to show for it` };
    return;
  }
  if (declaredSha256 !== undefined && declaredSha256 !== ready.sha256)
    yield {
      invariant: 16,
      sentence: `upload ${uploadId} was declared as ${declaredSha256} and is ready as ${ready.sha256}`,
    };
  if (!sent.get(uploadId)?.has(`${ready.sha256} ${byteSize}`))
    yield {
      invariant: 16,
      sentence: `upload ${uploadId} is ready as ${ready.sha256} of ${byteSize} bytes, which its client never sent`,
    };
  if (stored?.sha256 !== ready.sha256 || stored.byteSize !== byteSize) {
    yield {
      invariant: 16,
      sentence: `upload ${uploadId} is ready as ${ready.sha256} of ${byteSize} bytes, and ${stored ? `${stored.sha256} of ${stored.byteSize}` : 'nothing'} stands there`,
    };
  }
}
