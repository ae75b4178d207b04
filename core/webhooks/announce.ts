import type { Context } from '../context.js';
import type { Generation } from '../generation/generation.js';
import { changeDelivery } from './change-delivery.js';
import { announced, DELIVERY_RETENTION_MS } from './decide.js';
import { deliveryIdOf, isOpen, type Delivery } from './delivery.js';
import { destinationOf, type AppWebhooks, type Destination } from './endpoint.js';
import { eventOf, type WebhookEvent } from './events.js';
import { wakeDelivery } from './wake-delivery.js';

type Needs = Pick<Context, 'webhookEndpoints' | 'deliveries' | 'wakeUps' | 'digests' | 'clock' | 'log'>;

/**
 * Makes a delivery of the generation's newest event for each destination that is told of it, durable on return. May be
 * repeated by anyone: it finds what it has made. An App without endpoints costs one read and no write.
 *
 * Called between the end of a generation and the mark that it is settled: until that mark is written, recovery calls it
 * again. So no end is lost, and none is announced before it is durable.
 */
export async function announceState(context: Needs, generation: Generation): Promise<void> {
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
  context: Needs,
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

function wakeIfOpen(context: Needs, delivery: Delivery): void {
  if (isOpen(delivery)) wakeDelivery(context, delivery, context.clock.now());
}

/**
 * Cancels what is open of a generation that was deleted: there is nothing to tell any more. What it misses is cancelled
 * when it is next tried.
 */
export async function cancelDeliveries(context: Needs, g: Generation): Promise<void> {
  const endedAt = g.completedAt ?? g.updatedAt;
  if (context.clock.now() - endedAt > DELIVERY_RETENTION_MS) return;
  const webhooks = await context.webhookEndpoints.read(g.appId);
  const endpointIds = [...(webhooks?.endpoints ?? []).map(({ endpointId }) => endpointId), g.appId];
  for (const endpointId of endpointIds) {
    const known = await context.deliveries.read(deliveryIdOf(context, endpointId, g.generationId));
    if (known !== null && isOpen(known)) await changeDelivery(context, known, { event: 'cancel' });
  }
}
