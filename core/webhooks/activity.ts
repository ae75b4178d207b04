import type { Call, Identity, Machine, Webhooks } from '../context.js';
import { pagesOf } from '../paging.js';
import { listAccountDeliveries } from './account-webhooks.js';
import type { Delivery, DeliveryState } from './delivery.js';

const HOUR_MS = 3_600_000;
/** The hours that are counted, the current one included. */
const ACTIVITY_HOURS = 48;
/** The most deliveries that are counted, and how many are read at a time. */
export const MAX_COUNTED = 1_000;
const PAGE = 100;

/** The deliveries that were created in an hour, by how they ended. */
export interface HourOfDeliveries {
  /** A full hour, UTC, in milliseconds since the epoch. */
  readonly startsAt: number;
  readonly delivered: number;
  /** Tried as often as they may be, or not sent because the endpoint was disabled. */
  readonly failed: number;
}

/** Counts of the deliveries of one webhook in the last 48 hours, by how they ended. */
export interface WebhookActivity {
  /** False where there are more than `MAX_COUNTED`: then the newest of these hours, and of the deliveries, are counted. */
  readonly isComplete: boolean;
  /** The oldest first, without gaps, up to the current hour. */
  readonly hours: readonly HourOfDeliveries[];
  readonly delivered: number;
  readonly failed: number;
  readonly waiting: number;
  readonly cancelled: number;
  /** The earliest time of a next attempt. */
  readonly nextAttemptAt?: number;
  /** Durations of attempts that were answered, in milliseconds; absent where none was. */
  readonly answeredMs?: { readonly median: number; readonly p95: number };
}

interface ActivityOf {
  readonly webhookId: string;
  readonly appId?: string | undefined;
}

/**
 * Counts the deliveries of one webhook of an account, which may have been deleted. Throws FIELD_INVALID and NOT_FOUND as
 * `listAccountDeliveries` does.
 */
export async function webhookActivity(
  context: Webhooks & Identity & Machine & Call,
  accountId: string,
  { webhookId, appId }: ActivityOf,
): Promise<WebhookActivity> {
  const now = context.clock.now();
  const newest: Delivery[] = [];
  // A clock that was wrong may have created some ahead of this time.
  const filter = { webhookId, appId, createdFrom: firstHour(now), createdBefore: hourOf(now) + HOUR_MS };
  const pages = pagesOf((page) => listAccountDeliveries(context, accountId, filter, page), PAGE);
  for await (const items of pages) {
    newest.push(...items);
    // A page that is not full is the last one, or the deliveries are of another App than the one that is named.
    if (items.length < PAGE || newest.length > MAX_COUNTED) break;
  }
  return activityOf(newest, now);
}

/** Counts deliveries that were created from the first of the last 48 hours to the end of the current one, newest first. */
export function activityOf(newest: readonly Delivery[], now: number): WebhookActivity {
  const isComplete = newest.length <= MAX_COUNTED;
  const counted = newest.slice(0, MAX_COUNTED);
  const from = isComplete ? firstHour(now) : hourOf(counted.at(-1)?.createdAt ?? now);
  const hours = Array.from({ length: (hourOf(now) - from) / HOUR_MS + 1 }, (_, index) => ({
    startsAt: from + index * HOUR_MS,
    delivered: 0,
    failed: 0,
  }));
  const sums = { delivered: 0, failed: 0, waiting: 0, cancelled: 0 };
  for (const { state, createdAt } of counted) {
    const outcome = OUTCOMES[state];
    sums[outcome] += 1;
    const hour = hours[(hourOf(createdAt) - from) / HOUR_MS];
    if (hour !== undefined && (outcome === 'delivered' || outcome === 'failed')) hour[outcome] += 1;
  }
  const next = counted.flatMap(({ nextAttemptAt }) => nextAttemptAt ?? []);
  const answeredMs = counted
    .flatMap(({ attempts }) => attempts.flatMap(({ status, durationMs }) => (status === undefined ? [] : durationMs)))
    .toSorted((a, b) => a - b);
  const [median, p95] = [0.5, 0.95].map((part) => answeredMs[Math.floor(answeredMs.length * part)]);
  return {
    isComplete,
    hours,
    ...sums,
    ...(next.length === 0 ? {} : { nextAttemptAt: Math.min(...next) }),
    ...(median === undefined || p95 === undefined ? {} : { answeredMs: { median, p95 } }),
  };
}

const OUTCOMES = {
  pending: 'waiting',
  retrying: 'waiting',
  delivered: 'delivered',
  exhausted: 'failed',
  disabled: 'failed',
  cancelled: 'cancelled',
} as const satisfies Readonly<Record<DeliveryState, string>>;

function firstHour(now: number): number {
  return hourOf(now) - (ACTIVITY_HOURS - 1) * HOUR_MS;
}

function hourOf(time: number): number {
  return Math.floor(time / HOUR_MS) * HOUR_MS;
}
