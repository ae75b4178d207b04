import type { Context } from '../context.js';
import { decideDelivery } from '../webhooks/decide.js';
import { isOpen, type Delivery } from '../webhooks/delivery.js';
import { wakeDelivery } from '../webhooks/wake-delivery.js';

export interface DeliveriesRecovered {
  woken: number;
  removed: number;
  failed: number;
}

/** When one that was woken is looked at again, in milliseconds: it may wait in a worker's queue. */
const LOOK_AGAIN_MS = 10 * 60_000;

/**
 * Wakes deliveries whose wake-up was lost, and removes those whose log is kept no longer. One pass takes at most
 * `recoveryBatch`. Ends early once `shouldContinue` returns false.
 */
export async function recoverDeliveries(
  context: Context,
  now: number,
  shouldContinue: () => boolean,
): Promise<DeliveriesRecovered> {
  const done: DeliveriesRecovered = { woken: 0, removed: 0, failed: 0 };
  for (const delivery of await context.deliveries.due(now, context.settings.recoveryBatch)) {
    if (!shouldContinue()) break;
    try {
      const outcome = isOpen(delivery) ? await wakeAgain(context, delivery) : await remove(context, delivery);
      if (outcome) done[outcome] += 1;
    } catch (error) {
      done.failed += 1;
      context.log.warn('delivery not recovered', { deliveryId: delivery.deliveryId, error });
    }
  }
  return done;
}

/** First postpones, then wakes: of several processes that read the same list, one wakes it. */
async function wakeAgain(context: Context, delivery: Delivery): Promise<'woken' | null> {
  const { deliveries, clock } = context;
  const now = clock.now();
  const decision = decideDelivery(delivery, { event: 'postpone', until: now + LOOK_AGAIN_MS }, now);
  if ('refused' in decision) return null;
  if ((await deliveries.replace(decision.next, delivery.version)) === 'conflict') return null;
  wakeDelivery(context, delivery, now);
  return 'woken';
}

async function remove({ deliveries }: Context, { deliveryId, version }: Delivery): Promise<'removed' | null> {
  return (await deliveries.remove(deliveryId, version)) === 'applied' ? 'removed' : null;
}
