import type { ErrorCode } from '../../../../core/errors.js';
import {
  checkEffect,
  checkKeyUsed,
  checkMismatch,
  checkOrigin,
  checkReference,
  effectOf,
  ForeignAnswers,
  type KeyedOperation,
  type KeyVerdict,
  payloadOf,
} from '../../access.js';
import { type Finding, finding } from '../../finding.js';
import { checkAccepted, checkShortage } from '../../ledger.js';
import { checkShape } from '../../record-shape.js';
import { checkEnd } from '../../task.js';
import { canonical, textOf } from '../../values.js';
import { type Answer, type Burst, type Exchange, type Request, touches } from '../history.js';
import { type Answered, isDefinite, isSuccess, type Known, type OperationOf, told, traceOf } from '../known.js';

type ApiOperation = Exclude<Request['operation'], 'put' | 'fetch'>;

const ANY = { SERVICE_UNAVAILABLE: 503, DEVELOPER_TOKEN_REVOKED: 401 } as const;
const KEYED = { IDEMPOTENCY_IN_PROGRESS: 409, IDEMPOTENCY_PAYLOAD_MISMATCH: 409 } as const;

/** The answers that each request may get; all are well formed. A store fault is a 503 and never a 500. */
const MAY_SAY: Readonly<Record<ApiOperation, Partial<Readonly<Record<ErrorCode | 'OK', number>>>>> = {
  create: { ...ANY, ...KEYED, OK: 202, CREDITS_INSUFFICIENT: 402, QUEUE_FULL: 429, FIELD_INVALID: 422 },
  get: { ...ANY, OK: 200, TASK_NOT_FOUND: 404 },
  cancel: { ...ANY, OK: 200, TASK_NOT_FOUND: 404 },
  credits: { ...ANY, OK: 200 },
  prepare: { ...ANY, ...KEYED, OK: 201 },
  complete: { ...ANY, ...KEYED, OK: 200, FIELD_INVALID: 422, UPLOAD_URL_EXPIRED: 410 },
};

/**
 * The additional answers to a request that came through a troubled link, or to a process that was frozen while it
 * arrived.
 */
const TROUBLED_MAY_SAY: Partial<Readonly<Record<ErrorCode, number>>> = { REQUEST_TIMEOUT: 408 };

/** Invariant 19, as far as one front and one set of adapters show it: whatever fails, answers follow the contract. */
export function* checkAnswers(known: Known): Iterable<Finding> {
  for (const exchange of known.answered('create', 'get', 'cancel', 'credits', 'prepare', 'complete')) {
    const { answer, request, sentAt, at } = exchange;
    const code = (answer.code ?? 'none') as ErrorCode;
    const isTroubled = touches(known.history.facts.troubles, { from: sentAt, until: at });
    const status = MAY_SAY[request.operation][code] ?? (isTroubled ? TROUBLED_MAY_SAY[code] : undefined);
    if (status !== answer.status)
      yield finding`19: ${told(exchange)} was answered with ${answer.status} ${answer.code ?? 'and no code'}: ${answer.message ?? ''}`;
  }
}

/**
 * Invariant 13: a refusal for lack of credits is correct, and of concurrent creates as many are accepted as the balance
 * pays for.
 */
export function* checkRefusals(known: Known): Iterable<Finding> {
  for (const exchange of known.answered('create')) {
    if (exchange.answer.status === 402)
      yield* checkShortage(known.creditsAnswer(exchange), known.priceOf(exchange.request.body));
  }
  for (const burst of known.history.facts.bursts) yield* checkBurst(known, burst);
}

function* checkBurst(known: Known, { by, keys, cost, balance, isExact }: Burst): Iterable<Finding> {
  const answered = known
    .answered('create')
    .filter((exchange) => exchange.by === by && keys.includes(exchange.request.key));
  const ids = new Set(answered.filter(isSuccess).map(({ answer }) => textOf(answer.data?.['generation_id'])));
  const returned = [...ids].reduce((sum, id) => sum + Number(known.money.get(id)?.released ?? 0n), 0);
  yield* checkAccepted({
    told: `by ${by}`,
    creates: keys.length,
    accepted: ids.size,
    cost,
    balance,
    returned,
    isExact,
  });
}

/**
 * Invariant 18: every process refuses a revoked key within 5 seconds, other keys are not refused, and secrets are not
 * written anywhere.
 */
export function* checkAccess(known: Known): Iterable<Finding> {
  const { facts, atRest } = known.history;
  const revocations = new Map(facts.revocations.map((revocation) => [revocation.by, revocation]));
  for (const exchange of known.answered('create', 'get', 'cancel', 'credits', 'prepare', 'complete')) {
    const { sentAt, at, answer } = exchange;
    const used = { told: told(exchange), arrivedAt: sentAt, answeredAt: at, verdict: verdictOf(exchange) };
    yield* checkKeyUsed({ ...used, answer: `${answer.status} ${answer.code ?? ''}` }, revocations.get(exchange.by));
  }
  for (const { where, text } of atRest.texts) {
    for (const secret of facts.secrets)
      if (text.includes(secret.text)) yield finding`18: ${where} contains ${secret.name}`;
  }
  for (const exchange of known.history.exchanges) {
    const said = JSON.stringify(exchange.answered?.answer ?? null);
    for (const secret of facts.secrets)
      if (said.includes(secret.text)) yield finding`18: ${told(exchange)} was answered with ${secret.name}`;
  }
}

function verdictOf(exchange: { readonly answer: Answer }): KeyVerdict {
  const { status, code } = exchange.answer;
  if (status === 401) return code === 'DEVELOPER_TOKEN_REVOKED' ? 'revoked' : 'refused';
  return isDefinite(exchange) ? 'taken' : 'nothing';
}

type About = 'get' | 'cancel' | 'complete';

/**
 * Invariant 17: a foreign id and an id that was never issued get the same answer. An id belongs to an App once an
 * answer to that App named it.
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

/** The App that owns each generation and upload, according to the answers to its clients. */
function ownersOf(known: Known): Map<string, string> {
  const owners = new Map<string, string>();
  for (const exchange of known.answered('create', 'prepare')) {
    if (!isSuccess(exchange)) continue;
    const id = exchange.answer.data?.[exchange.request.operation === 'create' ? 'generation_id' : 'upload_id'];
    owners.set(textOf(id), known.party(exchange.by).appId);
  }
  return owners;
}

/** A foreign upload cannot be used in a generation. */
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

/** Invariants 6, 7, 9 and 20: after the last failure, everything ends within its deadline and is settled. */
export function* checkRest(known: Known): Iterable<Finding> {
  const { quietAt, troubledUntil, slackMs } = known.history.facts;
  const calm = { from: Math.max(quietAt, troubledUntil), slackMs };
  for (const generation of known.generations()) {
    const { completedAt: endedAt, settledAt } = generation;
    yield* checkEnd(generation, { endedAt, settledAt }, calm);
    yield* checkShape(generation);
  }
}

/** All requests under one key of one App and operation, with any credential and through any process. */
interface Key {
  readonly name: string;
  readonly operation: KeyedOperation;
  readonly sent: (Exchange & { readonly request: OperationOf<KeyedOperation> })[];
  readonly answered: Answered<KeyedOperation>[];
}

/**
 * Invariants 11, 12 and 20: a key has at most one effect, whichever process received the request, and in the end its
 * client knows the effect.
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

/** Another payload is refused once the first has succeeded, and only another payload is refused. */
function* checkMismatches({ name, operation, sent, answered }: Key): Iterable<Finding> {
  const payloads = new Set(sent.map(({ request }) => payloadOf(request)));
  for (const exchange of answered) {
    if (exchange.answer.code === 'IDEMPOTENCY_PAYLOAD_MISMATCH') yield* checkMismatch(told(exchange), name, payloads);
    if (exchange.answer.code === 'IDEMPOTENCY_REPLAY_EXPIRED')
      yield finding`11: ${operation} under key ${name} is said to be past its replay`;
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
      yield finding`11: ${told(exchange)} came with another payload after the key had succeeded, and was answered with ${exchange.answer.status} ${exchange.answer.code ?? ''}`;
    }
  }
}

/**
 * A client that keeps retrying learns how its request ended. A refusal counts once nothing sent before it can still
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
    yield finding`20: what became of ${operation} under key ${name} is still not known: ${answered.at(-1)?.answer.code ?? 'no answer'} after ${sent.length} requests`;
}

/** Every generation comes from one key, which was answered with it; no key has two, acknowledged or not. */
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
      yield finding`11: generations ${other} and ${generationId} both stand under key ${clientTraceId}`;
    byTrace.set(clientTraceId, generationId);
    // Refused requests left nothing, and a retry returned whatever had happened without an answer.
    const madeNothing = !answeredWith.has(generationId);
    const requests = Array.from({ length: sentByTrace.get(clientTraceId) ?? 0 }, () => ({ madeNothing }));
    yield* checkOrigin(`generation ${generationId}`, clientTraceId, requests);
  }
}
