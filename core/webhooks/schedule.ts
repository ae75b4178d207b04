import type { Delivery } from './delivery.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** How long after each failed attempt the next one begins, in milliseconds: 75 hours in all. */
const DELAYS_MS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  23 * HOUR + 25 * MINUTE,
] as const;

/** How often a message is sent before its delivery is given up. */
export const MAX_ATTEMPTS = DELAYS_MS.length + 1;

/** The longest wait that an endpoint may ask for, in milliseconds. */
const RETRY_AFTER_CAP_MS = 24 * HOUR;

/** By how much a delay may be shorter or longer, as a part of it: so that what failed together is not tried together. */
const JITTER = 0.1;

/**
 * How long to wait before the next attempt, in milliseconds, once `attemptsMade` have failed; undefined if there is none.
 * `askedMs` is what the endpoint's Retry-After asks for.
 */
export function retryDelayMs(
  { deliveryId, attemptsMade }: Pick<Delivery, 'deliveryId' | 'attemptsMade'>,
  askedMs = 0,
): number | undefined {
  const delayMs = DELAYS_MS[attemptsMade - 1];
  if (delayMs === undefined) return undefined;
  const jittered = Math.round(delayMs * (1 + JITTER * (2 * fractionOf(deliveryId, attemptsMade) - 1)));
  return Math.max(jittered, Math.min(askedMs, RETRY_AFTER_CAP_MS));
}

/** Where in an id digits begin that have no pattern: ids of deliveries are digests, but for their version and variant. */
const FREE_DIGITS = [0, 4, 20] as const;

/** At least 0 and below 1. */
function fractionOf(deliveryId: string, attemptsMade: number): number {
  const from = FREE_DIGITS[(attemptsMade - 1) % FREE_DIGITS.length] ?? 0;
  return Number.parseInt(deliveryId.replaceAll('-', '').slice(from, from + 8), 16) / 2 ** 32;
}
