import { canonical, textOf } from '../../../history/values.js';
import type { Finding } from '../../../history/finding.js';
import {
  checkEffect,
  checkMismatch,
  checkOrigin,
  effectOf,
  payloadOf,
  type KeyedOperation,
} from '../../../history/keys.js';
import type { Exchange } from '../history.js';
import { isDefinite, isSuccess, told, traceOf, type Answered, type Known, type OperationOf } from '../known.js';

/** All requests under one key of one App and operation, by whichever credential and process. */
interface Key {
  readonly name: string;
  readonly operation: KeyedOperation;
  readonly sent: (Exchange & { readonly request: OperationOf<KeyedOperation> })[];
  readonly answered: Answered<KeyedOperation>[];
}

/**
 * Invariants 11, 12 and 20: a key has one effect at most, whatever process was asked, and in the end its client knows
 * which.
 */
export function* checkKeys(known: Known): Iterable<Finding> {
  const keys = keysOf(known);
  for (const key of keys) {
    yield* checkSuccesses(key);
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

function* checkSuccesses({ name, operation, answered }: Key): Iterable<Finding> {
  const [first, ...rest] = answered.filter(isSuccess).map((exchange) => ({
    told: told(exchange),
    key: name,
    payload: payloadOf(exchange.request),
    effect: effectOf(operation, exchange.answer.data),
  }));
  if (first) for (const next of rest) yield* checkEffect(first, next);
}

/** Another payload is refused once the first has succeeded, and only another payload is. */
function* checkMismatches({ name, operation, sent, answered }: Key): Iterable<Finding> {
  const payloads = new Set(sent.map(({ request }) => payloadOf(request)));
  for (const exchange of answered) {
    if (exchange.answer.code === 'IDEMPOTENCY_PAYLOAD_MISMATCH') yield* checkMismatch(told(exchange), name, payloads);
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
  const answeredWith = new Set<string>();
  const sentByTrace = new Map<string, number>();
  for (const { operation, sent, answered } of keys) {
    if (operation !== 'create') continue;
    for (const { request } of sent) {
      const trace = traceOf(request.body);
      sentByTrace.set(trace, (sentByTrace.get(trace) ?? 0) + 1);
    }
    for (const { answer } of answered.filter(isSuccess)) answeredWith.add(textOf(answer.data?.['generation_id']));
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
    // What was refused left nothing, and what happened without an answer was told to the retry.
    const madeNothing = !answeredWith.has(generationId);
    const requests = Array.from({ length: sentByTrace.get(clientTraceId) ?? 0 }, () => ({ madeNothing }));
    yield* checkOrigin(`generation ${generationId}`, clientTraceId, requests);
  }
}
