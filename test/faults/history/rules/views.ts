import { taskFault } from '../../../history/task-shape.js';
import { textOf } from '../../../history/values.js';
import { checkDenial, checkSubject } from '../../../history/ownership.js';
import { brokenBy, checkShown, ENDED_RANK, shownRecord, shownTask, type Shown } from '../../../history/task-order.js';
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
    const view = { ...shownTask(data), exchange, id: textOf(data['generation_id']) };
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
  const ended = views.filter(({ rank }) => rank === ENDED_RANK);
  const [first, second] = new Map(ended.map((view) => [endOf(view), view])).values();
  if (first && second)
    yield {
      invariant: 7,
      sentence: `${told(first.exchange)} showed the end ${endOf(first)}, and ${told(second.exchange)} ${endOf(second)}`,
    };
  const onRecord = shownRecord(record);
  const different = new Map(views.map((view) => [`${view.constant} ${view.rank} ${endOf(view)}`, view]));
  for (const view of different.values())
    yield* checkShown(`${told(view.exchange)}, of generation ${id},`, view, onRecord);
}

function endOf({ end, delivered }: View): string {
  return `${end} ${delivered}`;
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
