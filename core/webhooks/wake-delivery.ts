import type { Context } from '../context.js';
import type { Delivery } from './delivery.js';

/** The kind of wake-ups that are about deliveries. */
export const DELIVERY = 'webhook-delivery';

/**
 * Schedules a wake-up for a delivery. The caller does not wait for it: the delivery carries the time at which recovery
 * examines it anyway.
 */
export function wakeDelivery(
  { wakeUps, log }: Pick<Context, 'wakeUps' | 'log'>,
  { deliveryId }: Pick<Delivery, 'deliveryId'>,
  at: number,
): void {
  wakeUps
    .schedule({ kind: DELIVERY, id: deliveryId }, at)
    .catch((error: unknown) => log.warn('wake-up not scheduled', { deliveryId, error }));
}
