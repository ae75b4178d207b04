import { canonical, textOf } from '../../../history/values.js';
import type { Finding } from '../../../history/finding.js';
import type { Exchange } from '../history.js';
import { isDefinite, isSuccess, told, traceOf, type Answered, type Known, type OperationOf } from '../known.js';

type Keyed = 'create' | 'prepare' | 'complete';

/** All requests under one key of one App and operation, by whichever credential and process. */
interface Key {
  readonly name: string;
  readonly operation: Keyed;
  readonly sent: (Exchange & { readonly request: OperationOf<Keyed> })[];
  readonly answered: Answered<Keyed>[];
}

/**
 * Invariants 11, 12 and 20: a key has one effect at most, whatever process was asked, and in the end its client knows
 * which.
 */
export function* checkKeys(known: Known): Iterable<Finding> {
  const keys = keysOf(known);
  for (const key of keys) {
    yield* checkEffect(key);
    yield* checkMismatches(key);
    yield* checkKnown(known, key);
  }
  yield* checkOrigins(known, keys);
}

function keysOf(known: Known): Key[] {
  const keys = new Map<string, Key>();
  for (const exchange of known.history.exchanges) {
    const { request, answered } = exchange;
    if (request.operation !== 'create' && request.operation !== 'prepare' && request.operation !== 'complete') continue;
    const name = canonical([known.party(exchange.by).appId, request.operation, request.key]);
    const key = keys.get(name) ?? { name: request.key, operation: request.operation, sent: [], answered: [] };
    key.sent.push({ ...exchange, request });
    if (answered) key.answered.push({ ...exchange, ...answered, request });
    keys.set(name, key);
  }
  return [...keys.values()];
}

function payloadOf(request: OperationOf<Keyed>): string {
  return canonical(request.operation === 'complete' ? [request.uploadId, request.body] : request.body);
}

const EFFECT: Readonly<Record<Keyed, readonly string[]>> = {
  create: ['generation_id'],
  prepare: ['upload_id'],
  complete: ['upload_id', 'media_id'],
};

function* checkEffect({ name, operation, answered }: Key): Iterable<Finding> {
  const [first, ...rest] = answered.filter(isSuccess);
  if (!first) return;
  const effectOf = ({ answer }: Answered<Keyed>) => canonical(EFFECT[operation].map((field) => answer.data?.[field]));
  for (const other of rest) {
    if (effectOf(other) !== effectOf(first))
      yield {
        invariant: 11,
        sentence: `${operation} under key ${name} had the effects ${effectOf(first)} and ${effectOf(other)}: ${told(first)}; ${told(other)}`,
      };
    if (payloadOf(other.request) !== payloadOf(first.request))
      yield { invariant: 11, sentence: `${operation} under key ${name} succeeded with two payloads` };
  }
}

/** Another payload is refused once the first has succeeded, and only another payload is. */
function* checkMismatches({ name, operation, sent, answered }: Key): Iterable<Finding> {
  const payloads = new Set(sent.map(({ request }) => payloadOf(request)));
  for (const exchange of answered) {
    if (exchange.answer.code === 'IDEMPOTENCY_PAYLOAD_MISMATCH' && payloads.size === 1) {
      yield {
        invariant: 11,
        sentence: `${told(exchange)} was refused for another payload, and none was ever sent under key ${name}`,
      };
    }
    if (exchange.answer.code === 'IDEMPOTENCY_REPLAY_EXPIRED')
      yield { invariant: 11, sentence: `${operation} under key ${name} is said to be past its replay` };
    const payload = payloadOf(exchange.request);
    const hadSucceeded = answered.some(
      (other) => isSuccess(other) && other.at < exchange.sentAt && payloadOf(other.request) !== payload,
    );
    if (
      hadSucceeded &&
      isDefinite(exchange) &&
      exchange.answer.status !== 401 &&
      exchange.answer.code !== 'IDEMPOTENCY_PAYLOAD_MISMATCH'
    ) {
      yield {
        invariant: 11,
        sentence: `${told(exchange)} came with another payload after the key had succeeded, and was answered with ${exchange.answer.status} ${exchange.answer.code ?? ''}`,
      };
    }
  }
}

/**
 * A client that goes on asking learns how its request ended. A refusal counts once nothing sent before can still
 * arrive.
 */
function* checkKnown({ history: { facts } }: Known, { name, operation, sent, answered }: Key): Iterable<Finding> {
  if (answered.some(isSuccess)) return;
  const isSettled = answered.some(
    (exchange) =>
      isDefinite(exchange) &&
      exchange.answer.status !== 401 &&
      (exchange.sentAt >= facts.quietAt || sent.length === answered.length),
  );
  if (!isSettled)
    yield {
      invariant: 20,
      sentence: `what became of ${operation} under key ${name} is still not known: ${answered.at(-1)?.answer.code ?? 'no answer'} after ${sent.length} requests`,
    };
}

/** Every generation comes from one key, which was answered with it; and no key has two, told or not. */
function* checkOrigins(known: Known, keys: readonly Key[]): Iterable<Finding> {
  const answeredWith = new Map<string, string>();
  const traces = new Set<string>();
  for (const { operation, sent, answered } of keys) {
    if (operation !== 'create') continue;
    for (const { request } of sent) if (request.operation === 'create') traces.add(traceOf(request.body));
    for (const exchange of answered.filter(isSuccess))
      answeredWith.set(textOf(exchange.answer.data?.['generation_id']), traceOf(bodyOf(exchange)));
  }
  const byTrace = new Map<string, string>();
  for (const { generationId, clientTraceId = '' } of known.generations()) {
    const other = byTrace.get(clientTraceId);
    if (other !== undefined)
      yield {
        invariant: 11,
        sentence: `generations ${other} and ${generationId} both stand under key ${clientTraceId}`,
      };
    byTrace.set(clientTraceId, generationId);
    if (!traces.has(clientTraceId))
      yield {
        invariant: 11,
        sentence: `generation ${generationId} stands under key ${clientTraceId}, which no client sent`,
      };
    // What was refused left nothing, and what happened without an answer was told to the retry.
    else if (!answeredWith.has(generationId))
      yield {
        invariant: 13,
        sentence: `generation ${generationId} stands under key ${clientTraceId}, whose client was never told of it`,
      };
  }
}

function bodyOf({ request }: Answered<Keyed>) {
  return request.operation === 'create' ? request.body : {};
}
