import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { matchingPage } from '../matching-page.js';
import type { Page, PageRequest } from '../paging.js';
import { isUuid } from '../uuid.js';
import { changeDelivery } from './change-delivery.js';
import type { Delivery, DeliveryState } from './delivery.js';
import { deliveredTo } from './manage-endpoints.js';
import { wakeDelivery } from './wake-delivery.js';

type Owner = Pick<Caller, 'accountId' | 'appId'>;

/** Which of an endpoint's deliveries: those that match all that is given. Times are milliseconds. */
export interface DeliveryFilter {
  readonly state?: DeliveryState | undefined;
  readonly createdFrom?: number | undefined;
  readonly createdBefore?: number | undefined;
}

/** How many deliveries one replay of a range examines. */
const REPLAY_PAGE = 100;

export interface Replayed {
  readonly replayed: number;
  /** Continues the range; absent once it is done. */
  readonly nextCursor?: string;
}

/**
 * A page of what one of the App's endpoints was told in the last 30 days, newest first; a filter by state may give one
 * with fewer than asked for, or none, although there are more. Throws NOT_FOUND for an endpoint that the App does not have.
 */
export async function listDeliveries(
  context: Pick<Context, 'webhookEndpoints' | 'deliveries' | 'call'>,
  caller: Owner,
  endpointId: string,
  filter: DeliveryFilter,
  page: PageRequest,
): Promise<Page<Delivery>> {
  const { endpointId: id } = await deliveredTo(context, caller, endpointId);
  return matching(context, id, filter, page);
}

function matching(
  { deliveries, call }: Pick<Context, 'deliveries' | 'call'>,
  endpointId: string,
  { state, createdFrom, createdBefore }: DeliveryFilter,
  page: PageRequest,
): Promise<Page<Delivery>> {
  const wanted = {
    endpointId,
    ...(createdFrom === undefined ? {} : { createdFrom }),
    ...(createdBefore === undefined ? {} : { createdBefore }),
  };
  if (state === undefined) return deliveries.list(wanted, page, call);
  return matchingPage(
    (asked) => deliveries.list(wanted, asked, call),
    (delivery) => delivery.state === state,
    page,
  );
}

/**
 * Sends what one generation's delivery tells again, at once and with as many attempts as a new one. Throws NOT_FOUND for
 * an endpoint or a delivery that the App does not have, and CONFLICT for one that was cancelled and while the endpoint is
 * disabled.
 */
export async function replayDelivery(
  context: Context,
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

/** Replays a page of those that match; those not delivered unless a state is given. Throws as replaying one does. */
export async function replayDeliveries(
  context: Context,
  caller: Owner,
  endpointId: string,
  filter: DeliveryFilter,
  cursor: string | undefined,
): Promise<Replayed> {
  const id = await enabled(context, caller, endpointId);
  const page = { limit: REPLAY_PAGE, ...(cursor === undefined ? {} : { cursor }) };
  const { items, nextCursor } = await matching(context, id, filter, page);
  let replayed = 0;
  for (const delivery of items) {
    if (filter.state === undefined && delivery.state === 'delivered') continue;
    const outcome = await replay(context, delivery);
    if (outcome !== null && outcome !== 'cancelled') replayed += 1;
  }
  return { replayed, ...(nextCursor === undefined ? {} : { nextCursor }) };
}

async function enabled(context: Context, caller: Owner, endpointId: string): Promise<string> {
  const { endpointId: id, endpoint } = await deliveredTo(context, caller, endpointId);
  if (endpoint?.disabled !== undefined)
    throw new ServiceError('CONFLICT', 'The webhook is disabled; enable it before anything is sent again.');
  return id;
}

async function replay(context: Context, known: Delivery): Promise<Delivery | 'cancelled' | null> {
  const changed = await changeDelivery(context, known, { event: 'replay' });
  if (changed === null) return null;
  if (changed.refused !== undefined) return 'cancelled';
  wakeDelivery(context, changed.delivery, context.clock.now());
  return changed.delivery;
}
