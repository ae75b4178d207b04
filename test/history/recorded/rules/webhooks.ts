import type { Generation } from '../../../../core/generation/generation.js';
import { type Finding, finding } from '../../finding.js';
import { checkWanted, MessageIds } from '../../notifications.js';
import { brokenBy, checkShown, type Shown, shownRecord, shownTask } from '../../task.js';
import { textOf } from '../../values.js';
import type { KnownEndpoint, LoggedDelivery, Message, SeenWebhooks } from '../history.js';
import { type Known, taskHasEnded } from '../known.js';

/** The final states of a delivery once nothing fails any more. */
const OVER = ['delivered', 'exhausted', 'disabled'];

interface Told {
  readonly message: Message;
  readonly shown: Shown;
}

/** Invariant 27: the notifications about generations that receivers get, checked against messages and delivery logs. */
export function* checkWebhooks(known: Known): Iterable<Finding> {
  const { webhooks } = known.history;
  if (webhooks === undefined) return;
  const endpoints = new Map(webhooks.endpoints.map((endpoint) => [endpoint.name, endpoint]));
  const own = (endpoint: KnownEndpoint) => webhooks.messages.filter((message) => message.endpoint === endpoint.name);
  for (const message of webhooks.messages) yield* checkMessage(known, endpoints.get(message.endpoint), message);
  yield* checkIds(webhooks.messages);
  for (const endpoint of endpoints.values()) {
    yield* checkOrder(endpoint, own(endpoint));
    yield* checkTold(known, webhooks, endpoint, own(endpoint));
    yield* checkDisabled(webhooks, endpoint, own(endpoint));
  }
  if (webhooks.followedRedirects > 0)
    yield finding`27: ${webhooks.followedRedirects} messages went where a receiver had pointed`;
}

/** A message is about the endpoint's own App, has a subscribed event type, matches the record, and is signed. */
function* checkMessage(known: Known, endpoint: KnownEndpoint | undefined, message: Message): Iterable<Finding> {
  const about = told(message);
  if (endpoint === undefined) {
    yield finding`27: ${about}, which is no endpoint`;
    return;
  }
  if (message.signatureFault !== undefined) {
    yield finding`27: ${about}, and is not signed as it should be: ${message.signatureFault}`;
    return;
  }
  const { generation_id: generationId, status } = message.task;
  const record = known.record(textOf(generationId));
  const { appId } = known.party(endpoint.by);
  if (record?.kind !== 'generation' || record.appId !== appId) {
    yield finding`27: ${about}, which no client of its App had asked for`;
    return;
  }
  yield* checkWanted(about, message.type, endpoint, record);
  yield* checkShown(about, shownTask(message.task), shownRecord(record));
  if (!isEnd(message)) return;
  if (status !== record.status)
    yield finding`27: ${about} with a task that is ${textOf(status)}, and ${record.status} is on record`;
  yield* checkDurable(known, message, record);
}

/** No notification reports an end that is not final: any later read shows that end. */
function* checkDurable(
  known: Known,
  message: Message,
  { generationId, completedAt = Infinity }: Generation,
): Iterable<Finding> {
  if (message.at < completedAt) yield finding`27: ${told(message)} at ${message.at}, and it ended at ${completedAt}`;
  for (const { sentAt, answer } of known.looksAt(generationId))
    if (sentAt > message.at && !taskHasEnded(textOf(answer.data?.['status'])))
      yield finding`27: ${told(message)}, and after that it was ${textOf(answer.data?.['status'])}`;
}

/** In order of arrival, messages about one generation never go back. */
function* checkOrder(endpoint: KnownEndpoint, messages: readonly Message[]): Iterable<Finding> {
  const newest = new Map<string, Told>();
  for (const message of messages) {
    if (message.signatureFault !== undefined) continue;
    const id = textOf(message.task['generation_id']);
    const shown = shownTask(message.task);
    const before = newest.get(id);
    if (
      before !== undefined &&
      (brokenBy(before.shown, shown) !== undefined || (isEnd(before.message) && !isEnd(message)))
    )
      yield finding`27: ${endpoint.name} was told ${message.type} of generation ${id} at ${message.at}, updated at ${shown.updatedAt}, after ${before.message.type} at ${before.message.at}, updated at ${before.shown.updatedAt}`;
    else newest.set(id, { message, shown });
  }
}

/** One id per event, generation and endpoint, shared by all attempts and never reused. */
function* checkIds(messages: readonly Message[]): Iterable<Finding> {
  const ids = new MessageIds();
  for (const { signatureFault, id, type, task, endpoint } of messages)
    if (signatureFault === undefined)
      yield* ids.check(id, `${type} of ${textOf(task['generation_id'])} to ${endpoint}`);
}

/** Every subscribed end was accepted by its receiver, or the record says why not. */
function* checkTold(
  known: Known,
  { deliveries, disabledBecause }: SeenWebhooks,
  endpoint: KnownEndpoint,
  messages: readonly Message[],
): Iterable<Finding> {
  const { appId } = known.party(endpoint.by);
  const logged = new Map(
    deliveries.filter((one) => one.endpoint === endpoint.name).map((one) => [one.generationId, one]),
  );
  const taken = new Set(
    messages
      .filter(({ answered }) => isTaken(answered))
      .map(({ type, task }) => `${type} ${textOf(task['generation_id'])}`),
  );
  for (const { generationId, status, appId: owner, createdAt, settledAt } of known.generations()) {
    const event = `generation.${status}`;
    if (owner !== appId || settledAt === undefined || createdAt < endpoint.madeAt || !endpoint.events.includes(event))
      continue;
    const delivery = logged.get(generationId);
    const fault = faultOf(delivery, event, taken.has(`${event} ${generationId}`), disabledBecause[endpoint.name]);
    if (fault !== undefined) yield finding`27: ${endpoint.name} wants ${event} of generation ${generationId}, ${fault}`;
  }
}

function faultOf(
  delivery: LoggedDelivery | undefined,
  event: string,
  isTold: boolean,
  disabledBecause: string | undefined,
): string | undefined {
  if (delivery === undefined) return 'and no delivery of it is on record';
  const { state } = delivery;
  if (delivery.event !== event) return `and ${delivery.event} is on record`;
  if (!OVER.includes(state)) return `which is ${state} at rest`;
  if (state === 'delivered' && !isTold) return 'which counts as delivered, and nobody has taken it';
  if (state === 'disabled' && disabledBecause === undefined) return 'which is disabled, and the webhook is not';
  return undefined;
}

/** Only endpoints that reported themselves gone, or accepted nothing, are disabled. */
function* checkDisabled(
  { disabledBecause }: SeenWebhooks,
  { name, conduct }: KnownEndpoint,
  messages: readonly Message[],
): Iterable<Finding> {
  const because = disabledBecause[name];
  const wasGone = messages.some(({ answered }) => answered?.status === 410);
  if (because === 'gone' && !wasGone) yield finding`27: ${name} is disabled as gone, and never said so`;
  if (wasGone && because !== 'gone') yield finding`27: ${name} has gone, and is ${because ?? 'enabled'}`;
  if (because === 'failing' && conduct === 'takes')
    yield finding`27: ${name} takes what it is sent, and is disabled as failing`;
}

function isEnd({ type }: Message): boolean {
  return type !== 'generation.running';
}

function isTaken(answered: Message['answered']): boolean {
  return answered !== undefined && answered.status >= 200 && answered.status < 300;
}

function told({ endpoint, type, task }: Message): string {
  return `${endpoint} was told ${type} of generation ${textOf(task['generation_id'])}`;
}
