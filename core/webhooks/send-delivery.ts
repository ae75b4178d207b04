import type { AbortSignalLike } from '../abort-signal.js';
import type { Context } from '../context.js';
import { viewGeneration } from '../generation/view.js';
import type { SendOutcome } from '../ports/webhook-sender.js';
import { changeDelivery } from './change-delivery.js';
import { dueFrom, type AttemptEnd, type DeliveryCommand } from './decide.js';
import { isOpen, messageIdOf, type Delivery } from './delivery.js';
import { destinationOf, signingKeys, type Destination } from './endpoint.js';
import { noteFailure, noteSuccess } from './endpoint-health.js';
import { retryDelayMs } from './schedule.js';
import { wakeDelivery } from './wake-delivery.js';

/** How long a receiver may take for the whole exchange, in milliseconds. */
export const SEND_MS = 15_000;

/**
 * How long a process has an attempt for itself, in milliseconds: longer than it can last by any of our clocks, so that
 * nobody sends an older event after a newer one.
 */
const LEASE_MS = SEND_MS + 75_000;

/**
 * How long after its lease has begun a message may leave, in milliseconds: together with its sending, and with clocks a
 * minute apart, that is within the lease.
 */
const LATEST_START_MS = SEND_MS;

/** The end of an attempt that was cut because this process stops: nobody knows what its receiver has seen. */
const CUT: AttemptEnd = { result: 'unknown' };

/**
 * Sends a delivery once, if it is due, and records how that ended. Whatever is left to be done has a wake-up afterwards.
 * Answers whether a message was sent. Throws `StoreUnavailable`: the attempt may have been made, and is repeated once its
 * lease is over.
 */
export async function sendDelivery(context: Context, deliveryId: string, signal: AbortSignalLike): Promise<boolean> {
  const delivery = await context.deliveries.read(deliveryId);
  if (delivery === null || !isOpen(delivery)) return false;
  const now = context.clock.now();
  const from = dueFrom(delivery, now);
  if (from > now) return wakeLater(context, delivery);

  const webhooks = await context.webhookEndpoints.read(delivery.appId);
  const destination = destinationOf(webhooks, delivery);
  if (destination === undefined) return close(context, delivery, { event: 'cancel' });
  if (destination.disabled !== undefined) return close(context, delivery, { event: 'disable' });
  const begun = await changeDelivery(context, delivery, {
    event: 'begin',
    token: context.ids.uuid(),
    leaseMs: LEASE_MS,
  });
  if (begun === null) return false;
  // Somebody else sends it, or has changed it: what is to be done then is seen from the newest version.
  if (begun.refused !== undefined) return wakeLater(context, begun.delivery);
  return attempt(context, begun.delivery, destination, signal);
}

async function close(context: Context, delivery: Delivery, command: DeliveryCommand): Promise<false> {
  await changeDelivery(context, delivery, command);
  return false;
}

function wakeLater(context: Context, delivery: Delivery): false {
  const now = context.clock.now();
  if (isOpen(delivery)) wakeDelivery(context, delivery, Math.max(now + 1, dueFrom(delivery, now)));
  return false;
}

async function attempt(
  context: Context,
  begun: Delivery,
  destination: Destination,
  signal: AbortSignalLike,
): Promise<boolean> {
  // Read once the lease is there: what is sent is then at least as new as the event that it tells of.
  const generation = await context.generations.read(begun.generationId);
  if (generation?.kind !== 'generation' || generation.deletedAt !== undefined)
    return close(context, begun, { event: 'cancel' });
  const view = await viewGeneration(context, generation);
  // So late that it could arrive after its lease, it must not leave: another process may have sent what is newer.
  const isLate = context.clock.now() - (begun.lease?.startedAt ?? 0) > LATEST_START_MS;
  const outcome = isLate ? undefined : await send(context, begun, destination, { view, signal });
  await record(context, begun, destination, outcome);
  return outcome !== undefined;
}

async function send(
  context: Context,
  { event, occurredAt, ...delivery }: Delivery,
  { endpointId, url, secret }: Destination,
  { view, signal }: { readonly view: Awaited<ReturnType<typeof viewGeneration>>; readonly signal: AbortSignalLike },
): Promise<SendOutcome | undefined> {
  const message = {
    url,
    messageId: messageIdOf(context, { event, occurredAt, ...delivery }),
    event,
    occurredAt,
    view,
    keys: signingKeys(context, endpointId, secret, context.clock.now()),
  };
  try {
    return await context.webhookSender.send(message, signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

async function record(
  context: Context,
  begun: Delivery,
  destination: Destination,
  outcome: SendOutcome | undefined,
): Promise<void> {
  const end = outcome === undefined ? CUT : endOf(outcome);
  const isGone = end.status === 410;
  const retryMs = retryDelayMs(begun, outcome !== undefined && 'retryAfterMs' in outcome ? outcome.retryAfterMs : 0);
  const changed = await changeDelivery(context, begun, {
    event: 'end-attempt',
    token: begun.lease?.token ?? '',
    end,
    afterFailure: nextAfter(isGone, begun, retryMs),
  });
  if (changed !== null && changed.refused === undefined) {
    wakeLater(context, changed.delivery);
    if (changed.delivery.state === 'exhausted') logGivenUp(context, changed.delivery, end);
  }
  if (begun.url !== undefined || outcome === undefined) return;
  if (end.result === 'delivered') await noteSuccess(context, begun, destination);
  else await noteFailure(context, begun, destination, isGone);
}

function nextAfter(
  isGone: boolean,
  { url }: Delivery,
  retryMs: number | undefined,
): { readonly retryMs: number } | 'exhausted' | 'disabled' {
  if (isGone) return url === undefined ? 'disabled' : 'exhausted';
  return retryMs === undefined ? 'exhausted' : { retryMs };
}

function endOf(outcome: SendOutcome): AttemptEnd {
  if ('fault' in outcome) return { result: 'failed', fault: outcome.fault };
  const { status } = outcome;
  return { result: status >= 200 && status < 300 ? 'delivered' : 'failed', status };
}

function logGivenUp(
  { log }: Context,
  { deliveryId, generationId, appId, attemptsMade }: Delivery,
  end: AttemptEnd,
): void {
  log.warn('webhook delivery given up', {
    deliveryId,
    generationId,
    appId,
    attempts: attemptsMade,
    ...(end.status === undefined ? {} : { status: end.status }),
    ...(end.fault === undefined ? {} : { fault: end.fault }),
  });
}
