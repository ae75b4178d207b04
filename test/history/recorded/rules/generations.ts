import type { Generation } from '../../../../core/generation/generation.js';
import { checkDenial, checkSubject } from '../../access.js';
import { type Finding, finding } from '../../finding.js';
import {
  checkOutputs,
  checkShown,
  ENDED_RANK,
  KnownViews,
  type Shown,
  shownRecord,
  shownTask,
  taskFault,
} from '../../task.js';
import { checkBytes, checkCompletion, checkReady, type ObservedBytes } from '../../uploads.js';
import { textOf } from '../../values.js';
import { longestGapMs, touches } from '../history.js';
import { type Answered, isSuccess, type Known, told, type Wish } from '../known.js';

/** Errors that trouble can cause: the deadline passes, or all attempts are spent while workers and stores fail. */
const HINDRANCES: ReadonlySet<string> = new Set([
  'TASK_TIMEOUT',
  'OUTPUT_STORE_FAILED',
  'PROVIDER_UNAVAILABLE',
  'OUTPUT_INVALID',
]);

/**
 * Invariants 12 and 20: accepted generations run, and end as their client requested. One may fail otherwise, or lack an
 * output that did not arrive from a vendor, only because of trouble while it ran, or trouble that left it no time to
 * start; generations of a burst at rest have no such excuse. A separate rule checks that a cancelled one was cancelled
 * by its client.
 */
export function* checkEnds(known: Known): Iterable<Finding> {
  const inExactBursts = new Set(known.history.facts.bursts.flatMap(({ keys, isExact }) => (isExact ? keys : [])));
  for (const generation of known.generations()) {
    const { generationId, clientTraceId = '', status, outputs, error } = generation;
    const body = known.bodyOf(generation);
    if (!body || (status !== 'succeeded' && status !== 'failed')) continue;
    const wish = known.expected.wishOf(known.history.facts.models, body);
    if (isGranted(generation, wish)) continue;
    const isHindrance =
      status === 'failed'
        ? HINDRANCES.has(error?.code ?? '')
        : isPart(generation, wish) && isOfVendors(known, generation);
    if (isHindrance && !inExactBursts.has(clientTraceId) && wasHindered(known, generation)) continue;
    yield finding`12: generation ${generationId} ${status} with ${outputs.length} outputs and ${error?.code ?? 'no error'}, where ${describeWish(wish)} was asked for, and no trouble explains it (${describeTimes(generation)})`;
  }
}

function isGranted({ status, outputs, error }: Generation, wish: Wish): boolean {
  return status === 'succeeded'
    ? wish.outputs === outputs.length
    : wish.error !== undefined && wish.error === error?.code;
}

function isPart({ outputs }: Generation, wish: Wish): boolean {
  return outputs.length > 0 && wish.outputs !== undefined && outputs.length < wish.outputs;
}

/** The sandbox creates its pictures where they are stored, so that none is lost in transit. */
function isOfVendors({ history: { vendors } }: Known, { modelKey }: Generation): boolean {
  return vendors !== undefined && modelKey in vendors.terms.policies;
}

/**
 * For a generation that ran: trouble while it did. For one that never started: there was no calm in which it could
 * have.
 */
function wasHindered(
  { history: { facts } }: Known,
  { createdAt, completedAt = Infinity, runDeadlineAt, terms }: Generation,
): boolean {
  if (runDeadlineAt === undefined)
    return longestGapMs(facts.troubles, { from: createdAt, until: completedAt }) < facts.enoughCalmMs;
  return touches(facts.troubles, { from: runDeadlineAt - terms.runTimeoutMs, until: completedAt });
}

function describeWish({ outputs, error }: Wish): string {
  return [outputs === undefined ? [] : [`${outputs} outputs`], error ?? []].flat().join(' or ');
}

/** In milliseconds since the epoch, like the times of troubles. */
function describeTimes({ createdAt, completedAt, runDeadlineAt, terms }: Generation): string {
  const begun = runDeadlineAt === undefined ? 'never begun' : `begun at ${runDeadlineAt - terms.runTimeoutMs}`;
  return `created at ${createdAt}, ${begun}, ended at ${completedAt ?? 'no time'}`;
}

/**
 * Invariants 14 and 16: delivered outputs are as requested, are stored intact, and match what their signed addresses
 * return.
 */
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
 * No output was written under a fence issued after the last one. A worker may have fetched some outputs later than
 * others, each time under a new fence.
 */
function* checkFences({ generationId, outputs, fence }: Generation): Iterable<Finding> {
  const fences = new Set(outputs.map(({ objectKey }) => Number(objectKey.split('/').at(-2))));
  if ([...fences].some((written) => !(written >= 1 && written <= fence))) {
    yield finding`14: the outputs of generation ${generationId}, whose fence is ${fence}, were written under ${[...fences].join(' and ')}`;
  }
}

function* checkFetched(known: Known, exchange: Answered<'fetch'>): Iterable<Finding> {
  const { request, answer } = exchange;
  const record = known.record(request.generationId);
  const output =
    record?.kind === 'generation' ? record.outputs.find(({ mediaId }) => mediaId === request.mediaId) : undefined;
  if (!output) {
    yield finding`16: ${told(exchange)} was for output ${request.mediaId}, which is not on record`;
    return;
  }
  // A store in trouble may report that, but not that the address is wrong or the object missing.
  if (answer.status >= 400 && answer.status < 500)
    yield finding`16: ${told(exchange)} was refused with ${answer.status}`;
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
    yield finding`16: ${told(exchange)} gave ${JSON.stringify(bytes)}, and output ${request.mediaId} is ${output.contentType}, ${output.widthPx}x${output.heightPx}, ${output.byteSize} bytes, ${output.sha256}`;
  }
}

/**
 * Invariant 10: an acknowledged cancel is not forgotten, and cancelling a queued generation costs nothing and starts
 * nothing.
 */
export function* checkCancels(known: Known): Iterable<Finding> {
  const asked = new Set<string>();
  for (const { request } of known.history.exchanges)
    if (request.operation === 'cancel') asked.add(request.generationId);
  for (const exchange of known.answered('cancel')) {
    const record = known.record(exchange.request.generationId);
    if (exchange.answer.status !== 200 || record?.kind !== 'generation') continue;
    const shown = textOf(exchange.answer.data?.['status']);
    if (shown === 'running' && record.cancelRequestedAt === undefined)
      yield finding`10: ${told(exchange)} was acknowledged, and is not on record`;
    if (shown === 'queued') yield finding`10: ${told(exchange)} left it queued`;
  }
  for (const generation of known.generations()) {
    if (generation.status === 'cancelled') yield* checkCancelled(known, generation, asked.has(generation.generationId));
  }
}

function* checkCancelled(known: Known, generation: Generation, wasAsked: boolean): Iterable<Finding> {
  const { generationId, attemptsMade, attempt, runDeadlineAt, completedAt = 0, chargedCredits, outputs } = generation;
  if (!wasAsked) yield finding`10: generation ${generationId} was cancelled, and no client had asked for it`;
  if (attempt && attempt.startedAt > completedAt)
    yield finding`10: attempt ${attempt.number} of generation ${generationId} began after it was cancelled`;
  // It never started: it was queued when it was cancelled.
  if (runDeadlineAt !== undefined) return;
  const wasCharged = chargedCredits !== 0 || (known.money.get(generationId)?.charged ?? 0n) !== 0n;
  if (wasCharged || outputs.length > 0 || attemptsMade > 0) {
    yield finding`10: generation ${generationId} was cancelled while queued, and has ${attemptsMade} attempts, ${outputs.length} outputs and ${chargedCredits} charged`;
  }
}

/** Invariant 16: a ready upload has the bytes that its client declared and sent, and they are still stored. */
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
    // Retention is longer than a run: a completed upload is still ready.
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

/** A task as one answer showed it. */
interface View extends Shown {
  readonly exchange: Answered<'create' | 'get' | 'cancel'>;
  readonly id: string;
}

/**
 * Invariants 7, 8, 9, 12 and 15: what clients see of a generation is well formed and never goes back in real time,
 * whichever process shows it and whoever looks. One answer is after another only if its request was sent after that
 * answer arrived; of two that overlap, either may be the newer.
 */
export function* checkViews(known: Known): Iterable<Finding> {
  const byId = new Map<string, View[]>();
  for (const exchange of known.answered('create', 'get', 'cancel')) {
    const { data, status } = exchange.answer;
    if (!data || status >= 300) continue;
    const view = { ...shownTask(data), exchange, id: textOf(data['generation_id']) };
    const fault = taskFault(data);
    if (fault !== undefined)
      yield finding`9: ${told(exchange)} showed ${view.id}, ${textOf(data['status'])}, whose ${fault}`;
    byId.set(view.id, [...(byId.get(view.id) ?? []), view]);
  }
  for (const views of byId.values()) {
    yield* checkOrder(views);
    yield* checkLast(known, views);
  }
  yield* checkDenials(known, byId);
}

function* checkOrder(views: readonly View[]): Iterable<Finding> {
  const known = new KnownViews();
  for (const view of views.toSorted((a, b) => a.exchange.at - b.exchange.at)) {
    const about = told(view.exchange);
    yield* known.check(about, view, view.exchange.sentAt);
    known.learn(about, view, view.exchange.at);
  }
}

/** Constant members never change, and every client that saw an end saw the one on record, overlapping or not. */
function* checkLast(known: Known, views: readonly View[]): Iterable<Finding> {
  const [{ id } = { id: '' }] = views;
  const record = known.record(id);
  if (record?.kind !== 'generation') {
    yield finding`12: clients were shown generation ${id}, and ${record?.kind ?? 'nothing'} stands there at the end`;
    return;
  }
  const ended = views.filter(({ rank }) => rank === ENDED_RANK);
  const [first, second] = new Map(ended.map((view) => [endOf(view), view])).values();
  if (first && second)
    yield finding`7: ${told(first.exchange)} showed the end ${endOf(first)}, and ${told(second.exchange)} ${endOf(second)}`;
  const onRecord = shownRecord(record);
  const different = new Map(views.map((view) => [`${view.constant} ${view.rank} ${endOf(view)}`, view]));
  for (const view of different.values())
    yield* checkShown(`${told(view.exchange)}, of generation ${id},`, view, onRecord);
}

function endOf({ end, delivered }: View): string {
  return `${end} ${delivered}`;
}

/** A generation that its owner has seen is never reported to that owner as missing. */
function* checkDenials(known: Known, byId: ReadonlyMap<string, readonly View[]>): Iterable<Finding> {
  for (const exchange of known.answered('get', 'cancel')) {
    const { generationId } = exchange.request;
    const { status, code, data } = exchange.answer;
    if (data && status === 200) yield* checkSubject(told(exchange), generationId, textOf(data['generation_id']));
    if (status !== 404) continue;
    const { appId } = known.party(exchange.by);
    const views = byId.get(generationId) ?? [];
    const wasShown = views.some(
      (view) => view.exchange.at < exchange.sentAt && known.party(view.exchange.by).appId === appId,
    );
    yield* checkDenial(told(exchange), code, generationId, wasShown);
  }
}
