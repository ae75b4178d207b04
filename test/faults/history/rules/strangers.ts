import { canonical, textOf } from '../../../history/values.js';
import type { Finding } from '../../../history/finding.js';
import { isDefinite, isSuccess, told, type Answered, type Known } from '../known.js';

type About = 'get' | 'cancel' | 'complete';

/**
 * Invariant 17: whoever asks for what is not theirs gets one and the same answer, whether it is somebody else's or
 * nobody's. An id is a party's own once an answer named it to that App.
 */
export function* checkStrangers(known: Known): Iterable<Finding> {
  const owners = ownersOf(known);
  const answers = new Map<About, { readonly text: string; readonly of: string }>();
  for (const exchange of known.answered<About>('get', 'cancel', 'complete')) {
    const { request } = exchange;
    const id = request.operation === 'complete' ? request.uploadId : request.generationId;
    if (owners.get(id) === known.party(exchange.by).appId) continue;
    if (isSuccess(exchange))
      yield {
        invariant: 17,
        sentence: `${told(exchange)} succeeded, and it belongs to App ${owners.get(id) ?? 'of nobody'}`,
      };
    // A key of a completion that was used before says so before anybody looks at the upload.
    if (!isDefinite(exchange) || exchange.answer.status === 401 || isSuccess(exchange)) continue;
    const text = answerText(exchange, id);
    const first = answers.get(request.operation);
    if (!first) answers.set(request.operation, { text, of: told(exchange) });
    else if (first.text !== text)
      yield {
        invariant: 17,
        sentence: `${told(exchange)} was answered with ${text}, and ${first.of} with ${first.text}`,
      };
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

function answerText({ answer: { status, code, message } }: Answered<About>, id: string): string {
  return canonical([status, code, message?.replaceAll(id, 'ID')]);
}

/** Nor can somebody else's upload be used in a generation. */
function* checkReferences(known: Known, owners: ReadonlyMap<string, string>): Iterable<Finding> {
  for (const exchange of known.answered('create')) {
    const ids = exchange.request.body['reference_upload_ids'];
    if (!Array.isArray(ids) || !isSuccess(exchange)) continue;
    const foreign = ids.map(textOf).find((id) => owners.get(id) !== known.party(exchange.by).appId);
    if (foreign !== undefined)
      yield {
        invariant: 17,
        sentence: `${told(exchange)} was accepted with upload ${foreign} of App ${owners.get(foreign) ?? 'of nobody'}`,
      };
  }
  for (const generation of known.generations()) {
    for (const { uploadId } of generation.references) {
      if (owners.get(uploadId) !== generation.appId)
        yield {
          invariant: 17,
          sentence: `generation ${generation.generationId} of App ${generation.appId} refers to upload ${uploadId} of ${owners.get(uploadId) ?? 'nobody'}`,
        };
    }
  }
}
