import type { Finding } from '../../../history/finding.js';
import { checkReference, ForeignAnswers } from '../../../history/ownership.js';
import { textOf } from '../../../history/values.js';
import { isDefinite, isSuccess, told, type Known } from '../known.js';

type About = 'get' | 'cancel' | 'complete';

/**
 * Invariant 17: a foreign id and an id that was never issued get the same answer. An id belongs to an App once an answer
 * named it to that App.
 */
export function* checkForeignIds(known: Known): Iterable<Finding> {
  const owners = ownersOf(known);
  const answers = new ForeignAnswers();
  for (const exchange of known.answered<About>('get', 'cancel', 'complete')) {
    const { request } = exchange;
    const id = request.operation === 'complete' ? request.uploadId : request.generationId;
    const owner = owners.get(id);
    if (owner === known.party(exchange.by).appId || !isDefinite(exchange) || exchange.answer.status === 401) continue;
    const { status, code, message } = exchange.answer;
    const { operation } = request;
    const isOk = isSuccess(exchange);
    yield* answers.check({ told: told(exchange), operation, id, owner, isSuccess: isOk, status, code, message });
  }
  yield* checkReferences(known, owners);
}

/** Which App each generation and upload belongs to, by what its clients were told. */
function ownersOf(known: Known): Map<string, string> {
  const owners = new Map<string, string>();
  for (const exchange of known.answered('create', 'prepare')) {
    if (!isSuccess(exchange)) continue;
    const id = exchange.answer.data?.[exchange.request.operation === 'create' ? 'generation_id' : 'upload_id'];
    owners.set(textOf(id), known.party(exchange.by).appId);
  }
  return owners;
}

/** Nor can somebody else's upload be used in a generation. */
function* checkReferences(known: Known, owners: ReadonlyMap<string, string>): Iterable<Finding> {
  for (const exchange of known.answered('create')) {
    const ids = exchange.request.body['reference_upload_ids'];
    if (!Array.isArray(ids) || !isSuccess(exchange)) continue;
    const { appId } = known.party(exchange.by);
    for (const id of ids.map(textOf)) yield* checkReference(told(exchange), appId, id, owners.get(id));
  }
  for (const generation of known.generations()) {
    const { generationId, appId, references } = generation;
    for (const { uploadId } of references)
      yield* checkReference(`generation ${generationId}`, appId, uploadId, owners.get(uploadId));
  }
}
