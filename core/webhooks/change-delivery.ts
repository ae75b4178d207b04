import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { decideDelivery, type DeliveryCommand, type DeliveryRefusal } from './decide.js';
import type { Delivery } from './delivery.js';

const MAX_TRIES = 10;

export interface ChangedDelivery {
  readonly delivery: Delivery;
  /** Why nothing was written. */
  readonly refused?: DeliveryRefusal;
}

/**
 * Decides a command on the newest version and writes it. Tries again when another process was faster, a bounded number of
 * times. Null if there is no such delivery any more.
 */
export async function changeDelivery(
  { deliveries, clock }: Pick<Context, 'deliveries' | 'clock'>,
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
    // What was read before may be old; only the newest version may refuse.
    if ('refused' in decision && newest.version === current.version)
      return { delivery: current, refused: decision.refused };
    current = newest;
  }
  throw new ServiceError(
    'SERVICE_UNAVAILABLE',
    'The delivery is being changed by too many processes at the same time; try again.',
    { retryAfterMs: 1_000 },
  );
}
