import { assert } from '../assert.js';
import type { Call, Machine, Webhooks, Work } from '../context.js';
import { busy, ServiceError } from '../errors.js';
import { fieldInvalid } from '../fields.js';
import type { Generation } from '../generation/generation.js';
import { isUuid } from '../ids.js';
import { matchingPage, type Page, type PageRequest } from '../paging.js';
import {
  announced,
  decideDelivery,
  DELIVERY_RETENTION_MS,
  type DeliveryCommand,
  type DeliveryRefusal,
} from './decide.js';
import {
  type Delivery,
  DELIVERY_LISTS,
  DELIVERY_STATES,
  deliveryIdOf,
  type DeliveryList,
  type DeliveryState,
  isOpen,
} from './delivery.js';
import {
  type AppWebhooks,
  type Destination,
  destinationOf,
  eventOf,
  SENT_EVENTS,
  type SentEvent,
  TEST_EVENT,
  type WebhookEvent,
} from './endpoint.js';
import { deliveredTo, type Owner } from './manage-endpoints.js';

/** A filter for deliveries. All given conditions must match. Times are milliseconds. */
export interface DeliveryFilter {
  readonly state?: DeliveryState | undefined;
  /** The event that they tell now. */
  readonly event?: SentEvent | undefined;
  readonly generationId?: string | undefined;
  readonly createdFrom?: number | undefined;
  readonly createdBefore?: number | undefined;
}

/**
 * Makes a delivery of the generation's newest event for each destination that subscribes to it, durable on return. May
 * be repeated by anyone: it finds the deliveries it has made. An App without endpoints costs one read and no write.
 *
 * Called between the end of a generation and the mark that it is settled: until that mark is written, recovery calls it
 * again. So no end is lost, and none is announced before it is durable.
 */
export async function announceState(context: Work & Webhooks & Machine, generation: Generation): Promise<void> {
  const event = eventOf(generation.status);
  if (event === undefined) return;
  const webhooks = await context.webhookEndpoints.read(generation.appId);
  for (const destination of destinationsOf(webhooks, generation))
    if (destination.events.includes(event)) await announceTo(context, destination, generation, event);
}

function destinationsOf(webhooks: AppWebhooks | null, { appId, webhookUrl }: Generation): readonly Destination[] {
  const single = webhookUrl === undefined ? undefined : destinationOf(webhooks, { endpointId: appId, url: webhookUrl });
  return [...(webhooks?.endpoints ?? []), ...(single === undefined ? [] : [single])];
}

async function announceTo(
  context: Work & Webhooks & Machine,
  { endpointId, url, disabled }: Destination,
  g: Generation,
  event: WebhookEvent,
): Promise<void> {
  const now = context.clock.now();
  const occurredAt = g.completedAt ?? g.updatedAt;
  const isDisabled = disabled !== undefined;
  const delivery = announced(
    {
      deliveryId: deliveryIdOf(context, endpointId, g.generationId),
      accountId: g.accountId,
      appId: g.appId,
      endpointId,
      generationId: g.generationId,
      ...(endpointId === g.appId ? { url } : {}),
      event,
      occurredAt,
      createdAt: now,
    },
    isDisabled,
  );
  const inserted = await context.deliveries.insert(delivery);
  if (inserted.inserted) {
    wakeIfOpen(context, delivery);
    return;
  }
  const changed = await changeDelivery(context, inserted.existing, {
    event: 'announce',
    of: event,
    at: occurredAt,
    isDisabled,
  });
  if (changed !== null && changed.refused === undefined) wakeIfOpen(context, changed.delivery);
}

function wakeIfOpen(context: Work & Webhooks & Machine, delivery: Delivery): void {
  if (isOpen(delivery)) wakeDelivery(context, delivery, context.clock.now());
}

/**
 * Cancels the open deliveries of a deleted generation, because there is nothing to announce any more. Any that it
 * misses are cancelled when they are next tried.
 */
export async function cancelDeliveries(context: Webhooks & Machine, g: Generation): Promise<void> {
  const endedAt = g.completedAt ?? g.updatedAt;
  if (context.clock.now() - endedAt > DELIVERY_RETENTION_MS) return;
  for (const known of await deliveriesOf(context, g))
    if (isOpen(known)) await changeDelivery(context, known, { event: 'cancel' });
}

/** The deliveries of a generation that are kept, newest first: to endpoints of its App, and to its own URL. */
export async function deliveriesOf(
  { deliveries, call }: Webhooks & Call,
  { generationId }: Pick<Generation, 'generationId'>,
): Promise<readonly Delivery[]> {
  return (await deliveries.list({ of: 'generation', id: generationId }, { limit: 1_000 }, call)).items;
}

/** Removes the records of the deliveries of a generation: they have its URL, and what its receivers answered. */
export async function removeDeliveriesOf(
  context: Webhooks,
  generation: Pick<Generation, 'generationId'>,
): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const found = await deliveriesOf(context, generation);
    if (found.length === 0) return;
    for (const { deliveryId, version } of found) await context.deliveries.remove(deliveryId, version);
  }
  throw busy('The deliveries are being changed by too many processes at the same time; try again.');
}

/** How many deliveries one replay of a range examines. */
const REPLAY_PAGE = 100;

export interface Replayed {
  readonly replayed: number;
  /** Continues the range; absent once it is done. */
  readonly nextCursor?: string;
}

/** The conditions that a client gives as text. Throws FIELD_INVALID. */
export function readDeliveryFilter(asked: {
  readonly state?: string | undefined;
  readonly event?: string | undefined;
  readonly generation_id?: string | undefined;
}): Pick<DeliveryFilter, 'state' | 'event' | 'generationId'> {
  const { generation_id: generationId } = asked;
  if (generationId !== undefined && !isUuid(generationId))
    throw fieldInvalid('/generation_id', 'generation_id must be a UUID.');
  return {
    state: readWord('state', DELIVERY_STATES, asked.state),
    event: readWord('event', SENT_EVENTS, asked.event),
    generationId: generationId?.toLowerCase(),
  };
}

function readWord<W extends string>(name: string, words: readonly W[], text: string | undefined): W | undefined {
  const known = words.find((word) => word === text);
  if (text !== undefined && known === undefined)
    throw fieldInvalid(`/${name}`, `${name} must be one of ${words.join(', ')}.`);
  return known;
}

/**
 * Lists the deliveries of one of the App's endpoints in the last 30 days, newest first. With a filter by state or event, a
 * page examines at most a hundred times its limit, so it may have fewer than requested, or none, although there are more.
 * Throws NOT_FOUND for an endpoint that the App does not have.
 */
export async function listDeliveries(
  context: Webhooks & Call,
  caller: Owner,
  endpointId: string,
  filter: DeliveryFilter,
  page: PageRequest,
): Promise<Page<Delivery>> {
  const { endpointId: id } = await deliveredTo(context, caller, endpointId);
  return matchingDeliveries(context, { endpoint: id }, filter, page);
}

/** Deliveries that have all of these ids, of which there is at least one. */
export type DeliveryScope = Readonly<Partial<Record<DeliveryList, string | undefined>>>;

/** Those in the scope that match, bounded as `listDeliveries` is. */
export function matchingDeliveries(
  { deliveries, call }: Webhooks & Call,
  scope: DeliveryScope,
  { state, event, generationId, createdFrom, createdBefore }: DeliveryFilter,
  page: PageRequest,
): Promise<Page<Delivery>> {
  const ids = { ...scope, ...(generationId === undefined ? {} : { generation: generationId }) };
  const [shortest, ...others] = LISTS.flatMap((of) => (ids[of] === undefined ? [] : [{ of, id: ids[of] }]));
  assert(shortest !== undefined, 'deliveries are listed by an id');
  const list = (asked: PageRequest) =>
    deliveries.list(
      {
        ...shortest,
        ...(createdFrom === undefined ? {} : { createdFrom }),
        ...(createdBefore === undefined ? {} : { createdBefore }),
      },
      asked,
      call,
    );
  if (state === undefined && event === undefined && others.length === 0) return list(page);
  const matches = (delivery: Delivery) =>
    others.every(({ of, id }) => delivery[DELIVERY_LISTS[of]] === id) &&
    (state === undefined || delivery.state === state) &&
    (event === undefined || delivery.event === event);
  return matchingPage(list, matches, page);
}

const LISTS = Object.keys(DELIVERY_LISTS) as DeliveryList[];

/**
 * Sends the message of one generation's delivery again, at once and with as many attempts as a new one. Throws
 * NOT_FOUND for an endpoint or a delivery that the App does not have, and CONFLICT for one that was cancelled and while
 * the endpoint is disabled.
 */
export async function replayDelivery(
  context: Work & Webhooks & Machine & Call,
  caller: Owner,
  endpointId: string,
  deliveryId: string,
): Promise<Delivery> {
  const id = await enabled(context, caller, endpointId);
  const known = isUuid(deliveryId) ? await context.deliveries.read(deliveryId.toLowerCase()) : null;
  const replayed = known?.endpointId === id ? await replay(context, known) : null;
  if (replayed === null) throw new ServiceError('NOT_FOUND', 'The webhook has no delivery with this id.');
  if (replayed === 'cancelled')
    throw new ServiceError('CONFLICT', 'The generation was deleted: there is nothing to send any more.');
  return replayed;
}

/**
 * Replays a page of those that match, tests apart; those not delivered unless a state is given. Throws as replaying one does.
 */
export async function replayDeliveries(
  context: Work & Webhooks & Machine & Call,
  caller: Owner,
  endpointId: string,
  filter: DeliveryFilter,
  cursor: string | undefined,
): Promise<Replayed> {
  const id = await enabled(context, caller, endpointId);
  const page = { limit: REPLAY_PAGE, ...(cursor === undefined ? {} : { cursor }) };
  const { items, nextCursor } = await matchingDeliveries(context, { endpoint: id }, filter, page);
  let replayed = 0;
  for (const delivery of items) {
    if (delivery.event === TEST_EVENT) continue;
    if (filter.state === undefined && delivery.state === 'delivered') continue;
    const outcome = await replay(context, delivery);
    if (outcome !== null && outcome !== 'cancelled') replayed += 1;
  }
  return { replayed, ...(nextCursor === undefined ? {} : { nextCursor }) };
}

async function enabled(context: Webhooks & Call, caller: Owner, endpointId: string): Promise<string> {
  const { endpointId: id, endpoint } = await deliveredTo(context, caller, endpointId);
  if (endpoint?.disabled !== undefined)
    throw new ServiceError('CONFLICT', 'The webhook is disabled; enable it before anything is sent again.');
  return id;
}

async function replay(context: Work & Webhooks & Machine, known: Delivery): Promise<Delivery | 'cancelled' | null> {
  const changed = await changeDelivery(context, known, { event: 'replay' });
  if (changed === null) return null;
  if (changed.refused !== undefined) return 'cancelled';
  wakeDelivery(context, changed.delivery, context.clock.now());
  return changed.delivery;
}

const MAX_TRIES = 10;

export interface ChangedDelivery {
  readonly delivery: Delivery;
  /** Why nothing was written. */
  readonly refused?: DeliveryRefusal;
}

/**
 * Decides a command on the newest version and writes it. Retries a bounded number of times if another process was
 * faster. Null if the delivery no longer exists.
 */
export async function changeDelivery(
  { deliveries, clock }: Webhooks & Machine,
  known: Delivery,
  command: DeliveryCommand,
): Promise<ChangedDelivery | null> {
  let current: Delivery | null = known;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const decision = decideDelivery(current, command, clock.now());
    if ('next' in decision && (await deliveries.replace(decision.next, current.version)) === 'applied')
      return { delivery: decision.next };
    const newest: Delivery | null = await deliveries.read(current.deliveryId);
    if (newest === null) return null;
    // The version read before may be stale; only the newest version may refuse.
    if ('refused' in decision && newest.version === current.version)
      return { delivery: current, refused: decision.refused };
    current = newest;
  }
  throw busy('The delivery is being changed by too many processes at the same time; try again.');
}

/** The kind of wake-ups that are about deliveries. */
export const DELIVERY = 'webhook-delivery';

/**
 * Schedules a wake-up for a delivery. The caller does not wait for it: the delivery carries the time at which recovery
 * examines it anyway.
 */
export function wakeDelivery(
  { wakeUps, log }: Work & Machine,
  { deliveryId }: Pick<Delivery, 'deliveryId'>,
  at: number,
): void {
  wakeUps
    .schedule({ kind: DELIVERY, id: deliveryId }, at)
    .catch((error: unknown) => log.warn('wake-up not scheduled', { deliveryId, error }));
}
