import { type Finding, finding } from '../../finding.js';
import { checkEventOrder, comesBefore, type EventTold } from '../../notifications.js';
import { checkShown, shownRecord, shownTask } from '../../task.js';
import { textOf } from '../../values.js';
import type { SeenStream, StreamedEvent } from '../history.js';
import { type Known, taskHasEnded } from '../known.js';

/** Invariant 23: the events that followers receive, per connection and over all connections of one follower. */
export function* checkStreams(known: Known): Iterable<Finding> {
  const { streams } = known.history;
  if (streams === undefined) return;
  const followers = new Map<string, SeenStream[]>();
  for (const stream of streams) {
    followers.set(stream.follower, [...(followers.get(stream.follower) ?? []), stream]);
    yield* checkOrder(stream);
    for (const event of stream.events) yield* checkEvent(known, stream, event);
  }
  for (const own of followers.values()) {
    const [first] = own;
    if (first === undefined) continue;
    if (first.generationId === undefined) yield* checkAppTold(known, own);
    else yield* checkOneTold(first.follower, first.generationId, own);
  }
}

/** On one connection, the events of a generation arrive in order and without duplicates. */
function* checkOrder(stream: SeenStream): Iterable<Finding> {
  const newest = new Map<string, EventTold>();
  for (const event of stream.events) {
    const next = { type: event.type, changed: shownTask(event.task).updatedAt };
    yield* checkEventOrder(told(stream, event), newest.get(idOf(event)), next);
    newest.set(idOf(event), next);
  }
}

/** An event is about the follower's own App, matches the record, and reports only final ends. */
function* checkEvent(known: Known, stream: SeenStream, event: StreamedEvent): Iterable<Finding> {
  const generationId = idOf(event);
  const record = known.record(generationId);
  if (record?.kind !== 'generation' || record.appId !== known.party(stream.by).appId) {
    yield finding`23: ${told(stream, event)}, which no client of its App had asked for`;
    return;
  }
  yield* checkShown(told(stream, event), shownTask(event.task), shownRecord(record));
  if (event.type !== 'ended') return;
  if (!taskHasEnded(textOf(event.task['status'])))
    yield finding`23: ${told(stream, event)} of a task that is ${textOf(event.task['status'])}`;
  for (const { sentAt, answer } of known.looksAt(generationId))
    if (sentAt > event.at && !taskHasEnded(textOf(answer.data?.['status'])))
      yield finding`23: ${told(stream, event)}, and after that it was ${textOf(answer.data?.['status'])}`;
}

/** Once a follower has an event to resume after, it receives every end in its App. */
function* checkAppTold(known: Known, streams: readonly SeenStream[]): Iterable<Finding> {
  const begun = streams.findLast(({ after }) => after === undefined);
  if (begun === undefined) return;
  const { appId } = known.party(begun.by);
  const seen = new Set(streams.flatMap(({ events }) => events.filter(({ type }) => type === 'ended').map(idOf)));
  const firstSentAt = new Map<string, number>();
  for (const { request, sentAt } of known.history.exchanges)
    if (request.operation === 'create' && !firstSentAt.has(request.key)) firstSentAt.set(request.key, sentAt);
  for (const { request, sentAt, answer, by } of known.answered('create')) {
    if (answer.status !== 202 || known.party(by).appId !== appId) continue;
    const id = textOf(answer.data?.['generation_id']);
    if ((firstSentAt.get(request.key) ?? sentAt) <= begun.openedAt || seen.has(id)) continue;
    yield finding`23: ${begun.follower} follows since ${begun.openedAt}, and was never told that generation ${id}, asked for at ${sentAt}, has ended`;
  }
}

/** Over all connections of a follower of one generation, each event arrives once, and the end last. */
function* checkOneTold(follower: string, generationId: string, streams: readonly SeenStream[]): Iterable<Finding> {
  const events = streams.flatMap((stream) => stream.events);
  const ids = events.map(({ id }) => id);
  const again = ids.find((id, index) => ids.indexOf(id) !== index);
  if (again !== undefined)
    yield finding`23: ${follower} resumed behind event ${again} of generation ${generationId}, and was told it again`;
  const back = events.find(({ type }, index) => comesBefore(type, events[index - 1]?.type ?? ''));
  if (back !== undefined)
    yield finding`23: ${follower} resumed, and was told ${back.type} of generation ${generationId} after what came later`;
  if (events.at(-1)?.type !== 'ended')
    yield finding`23: ${follower} was never told that generation ${generationId} has ended`;
}

function idOf({ task }: StreamedEvent): string {
  return textOf(task['generation_id']);
}

function told({ follower, through }: SeenStream, event: StreamedEvent): string {
  return `${follower} was told ${event.type} of generation ${idOf(event)} through ${through} at ${Math.round(event.at)}`;
}
