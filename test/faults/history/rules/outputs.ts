import type { Generation } from '../../../../core/generation/generation.js';
import type { Finding } from '../../../history/finding.js';
import { checkOutputs } from '../../../history/outputs.js';
import { checkBytes } from '../../../history/uploads.js';
import { type Answered, type Known, told } from '../known.js';

/** Invariants 14 and 16: what was delivered is what was asked for, stands whole, and is what a signed address gives. */
export function* checkDelivered(known: Known): Iterable<Finding> {
  const objects = new Map(known.history.atRest.objects.map(({ key, byteSize }) => [key, { byteSize }]));
  for (const generation of known.generations()) {
    const { generationId, outputs } = generation;
    for (const output of outputs) {
      const of = `output ${output.mediaId} of generation ${generationId}`;
      yield* checkBytes(of, output, objects.get(output.objectKey));
    }
    yield* checkOutputs(generation, known.askedOutputs(known.bodyOf(generation) ?? {}));
    yield* checkFences(generation);
  }
  for (const exchange of known.answered('fetch')) yield* checkFetched(known, exchange);
}

/**
 * No output was written under a fence that was given after the last. A worker may have fetched some of them later than
 * others, each time under a fence of its own.
 */
function* checkFences({ generationId, outputs, fence }: Generation): Iterable<Finding> {
  const fences = new Set(outputs.map(({ objectKey }) => Number(objectKey.split('/').at(-2))));
  if ([...fences].some((written) => !(written >= 1 && written <= fence))) {
    yield {
      invariant: 14,
      sentence: `the outputs of generation ${generationId}, whose fence is ${fence}, were written under ${[...fences].join(' and ')}`,
    };
  }
}

function* checkFetched(known: Known, exchange: Answered<'fetch'>): Iterable<Finding> {
  const { request, answer } = exchange;
  const record = known.record(request.generationId);
  const output =
    record?.kind === 'generation' ? record.outputs.find(({ mediaId }) => mediaId === request.mediaId) : undefined;
  if (!output) {
    yield { invariant: 16, sentence: `${told(exchange)} was for output ${request.mediaId}, which is not on record` };
    return;
  }
  // A store in trouble may say so; that the address is wrong, or nothing there, it may not.
  if (answer.status >= 400 && answer.status < 500)
    yield { invariant: 16, sentence: `${told(exchange)} was refused with ${answer.status}` };
  const { bytes } = answer;
  if (answer.status !== 200 || !bytes) return;
  const isAsPromised =
    bytes.byteSize === output.byteSize &&
    bytes.sha256 === output.sha256 &&
    bytes.contentType === output.contentType &&
    bytes.kind === output.kind;
  const hasItsSides =
    bytes.kind !== 'image' || (bytes.widthPx === output.widthPx && bytes.heightPx === output.heightPx);
  if (!isAsPromised || !hasItsSides) {
    yield {
      invariant: 16,
      sentence: `${told(exchange)} gave ${JSON.stringify(bytes)}, and output ${request.mediaId} is ${output.contentType}, ${output.widthPx}x${output.heightPx}, ${output.byteSize} bytes, ${output.sha256}`,
    };
  }
}
