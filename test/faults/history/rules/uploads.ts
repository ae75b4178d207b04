import type { Finding } from '../../../history/finding.js';
import { checkBytes, checkCompletion, checkReady, type ObservedBytes } from '../../../history/uploads.js';
import { isSuccess, told, type Known } from '../known.js';

/** Invariant 16: a ready upload is the bytes that its client declared and sent, and they still stand. */
export function* checkUploads(known: Known): Iterable<Finding> {
  const { exchanges, atRest } = known.history;
  const uploads = new Map(atRest.uploads.map((upload) => [upload.record.uploadId, upload]));
  const sent = new Map<string, ObservedBytes[]>();
  for (const { request } of exchanges) {
    if (request.operation === 'put') sent.set(request.uploadId, [...(sent.get(request.uploadId) ?? []), request]);
  }
  for (const exchange of known.answered('complete')) {
    if (!isSuccess(exchange)) continue;
    const { uploadId, body } = exchange.request;
    const { data = {} } = exchange.answer;
    const record = uploads.get(uploadId)?.record;
    // Retention is longer than a run: what was completed is still ready.
    const ready = record?.kind === 'upload' && record.status === 'ready' ? record : undefined;
    yield* checkCompletion({ told: told(exchange), uploadId, declared: body['sha256'], data }, ready);
  }
  for (const { record, stored } of uploads.values()) {
    if (record.kind !== 'upload' || record.status !== 'ready') continue;
    yield* checkReady(record, sent.get(record.uploadId) ?? []);
    const { uploadId, byteSize, ready } = record;
    if (ready) yield* checkBytes(`upload ${uploadId}`, { byteSize, sha256: ready.sha256 }, stored);
  }
}
