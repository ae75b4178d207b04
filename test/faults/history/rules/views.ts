import type { Generation } from '../../../../core/generation/generation.js';
import type { JsonObject } from '../../../../core/json.js';
import { taskFault } from '../../../history/task-shape.js';
import { canonical, textOf } from '../../../history/values.js';
import { checkDenial, checkSubject } from '../../../history/ownership.js';
import { brokenBy, constantOf, rankOf, type Shown } from '../../../history/task-order.js';
import type { Finding } from '../../../history/finding.js';
import { told, type Answered, type Known } from '../known.js';

/** A task as one answer showed it. */
interface View extends Shown {
  readonly exchange: Answered<'create' | 'get' | 'cancel'>;
  readonly id: string;
}

/** What clients knew for certain at some moment: the furthest that any answer received by then had shown. */
interface Knowledge {
  furthest: View;
  charged: number;
  updatedAt: number;
}

/**
 * Invariants 7, 8, 9, 12 and 15: what clients are shown of a generation is well formed and never goes back in real
 * time, whichever process shows it and whoever looks. One answer is after another only if its request was sent after
 * that answer had come; of two that overlap either may be the newer.
 */
export function* checkViews(known: Known): Iterable<Finding> {
  const byId = new Map<string, View[]>();
  for (const exchange of known.answered('create', 'get', 'cancel')) {
    const { data, status } = exchange.answer;
    if (!data || status >= 300) continue;
    const view = viewOf(exchange, data);
    const fault = taskFault(data);
    if (fault !== undefined)
      yield {
        invariant: 9,
        sentence: `${told(exchange)} showed ${view.id}, ${textOf(data['status'])}, whose ${fault}`,
      };
    byId.set(view.id, [...(byId.get(view.id) ?? []), view]);
  }
  for (const views of byId.values()) {
    yield* checkOrder(views);
    yield* checkLast(known, views);
  }
  yield* checkDenials(known, byId);
}

function viewOf(exchange: View['exchange'], data: JsonObject): View {
  const { estimated_credits: estimated, reserved_credits: reserved, created_at: createdAt, model_key: model } = data;
  const { status, completed_at: completedAt, charged_credits: charged, outputs, error } = data;
  // Addresses are signed anew for every look.
  const delivered = Array.isArray(outputs)
    ? outputs.map((output) => canonical({ ...(output as JsonObject), url: undefined }))
    : [];
  return {
    exchange,
    id: textOf(data['generation_id']),
    rank: rankOf(status),
    charged: Number(charged),
    updatedAt: Date.parse(textOf(data['updated_at'])),
    constant: constantOf({ estimated, reserved, createdAt, modelKey: model, traceId: data['client_trace_id'] }),
    end: canonical([status, completedAt, charged, delivered, error]),
  };
}

function* checkOrder(views: readonly View[]): Iterable<Finding> {
  const arriving = views.toSorted((a, b) => a.exchange.at - b.exchange.at);
  let arrived = 0;
  let known: Knowledge | undefined;
  for (const view of views.toSorted((a, b) => a.exchange.sentAt - b.exchange.sentAt)) {
    for (let next = arriving[arrived]; next && next.exchange.at < view.exchange.sentAt; next = arriving[(arrived += 1)])
      known = learn(known, next);
    if (!known) continue;
    const { furthest } = known;
    const shown = `${told(view.exchange)} showed ${view.end}, updated at ${view.updatedAt}; ${told(furthest.exchange)} had shown ${furthest.end}, updated at ${known.updatedAt}`;
    const invariant = brokenBy({ ...furthest, charged: known.charged, updatedAt: known.updatedAt }, view);
    if (invariant === 3)
      yield {
        invariant,
        sentence: `${told(view.exchange)} showed ${view.constant}, and before it was ${furthest.constant}`,
      };
    else if (invariant !== undefined) yield { invariant, sentence: shown };
  }
}

function learn(known: Knowledge | undefined, view: View): Knowledge {
  if (!known) return { furthest: view, charged: view.charged, updatedAt: view.updatedAt };
  return {
    furthest: view.rank > known.furthest.rank ? view : known.furthest,
    charged: Math.max(known.charged, view.charged),
    updatedAt: view.updatedAt > known.updatedAt ? view.updatedAt : known.updatedAt,
  };
}

/**
 * What never changes is as it was shown, and all that were shown an end were shown the one on record, overlapping or
 * not.
 */
function* checkLast(known: Known, views: readonly View[]): Iterable<Finding> {
  const [{ id } = { id: '' }] = views;
  const record = known.record(id);
  if (record?.kind !== 'generation') {
    yield {
      invariant: 12,
      sentence: `clients were shown generation ${id}, and ${record?.kind ?? 'nothing'} stands there at the end`,
    };
    return;
  }
  const constant = constantOnRecord(record);
  const other = views.find((view) => view.constant !== constant);
  if (other)
    yield { invariant: 3, sentence: `${told(other.exchange)} showed ${other.constant}, and ${constant} is on record` };
  const ended = views.filter(({ rank }) => rank === 2);
  const ends = new Map(ended.map((view) => [view.end, view]));
  const [first, second] = [...ends.values()];
  if (first && second)
    yield {
      invariant: 7,
      sentence: `${told(first.exchange)} showed the end ${first.end}, and ${told(second.exchange)} ${second.end}`,
    };
  const end = endOf(record);
  for (const view of ends.values()) {
    if (view.end !== end)
      yield {
        invariant: 15,
        sentence: `${told(view.exchange)} showed generation ${id} as ${view.end}, and it is ${end} on record`,
      };
  }
}

function constantOnRecord({
  estimatedCredits,
  reservedCredits,
  createdAt,
  modelKey,
  clientTraceId,
}: Generation): string {
  return constantOf({
    estimated: estimatedCredits,
    reserved: reservedCredits,
    createdAt: timestamp(createdAt),
    modelKey,
    traceId: clientTraceId,
  });
}

/** The record's end as clients are to see it. */
function endOf({ status, completedAt, chargedCredits, outputs, error }: Generation): string {
  const delivered = outputs.map(({ mediaId, kind, widthPx, heightPx, durationMs }) =>
    canonical({ media_id: mediaId, media_type: kind, width: widthPx, height: heightPx, duration_ms: durationMs }),
  );
  return canonical([
    status,
    completedAt === undefined ? undefined : timestamp(completedAt),
    chargedCredits,
    delivered,
    error,
  ]);
}

function timestamp(at: number): string {
  return new Date(at).toISOString();
}

/** A generation that its owner was shown is not denied to that owner. */
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
