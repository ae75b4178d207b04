import { assert } from '../assert.js';
import { isFarAhead } from '../settings.js';
import { type Delivery, DELIVERY_TRANSITIONS, type DeliveryAttempt, type DeliveryState, isOpen } from './delivery.js';
import { isLater, type WebhookEvent } from './endpoint.js';

/** How an attempt ended. */
export type AttemptEnd = Pick<DeliveryAttempt, 'result' | 'status' | 'fault' | 'body'>;

export type DeliveryCommand =
  /** Something later has happened to the generation. */
  | { readonly event: 'announce'; readonly of: WebhookEvent; readonly at: number; readonly isDisabled: boolean }
  /** This process sends it now. */
  | { readonly event: 'begin'; readonly token: string; readonly leaseMs: number }
  | {
      readonly event: 'end-attempt';
      readonly token: string;
      readonly end: AttemptEnd;
      /** Sent again after this time, in milliseconds, or never again. */
      readonly afterFailure: { readonly retryMs: number } | 'exhausted' | 'disabled';
    }
  | { readonly event: 'disable' }
  | { readonly event: 'cancel' }
  | { readonly event: 'replay' }
  /** Recovery looks at it again no earlier than this. */
  | { readonly event: 'postpone'; readonly until: number };

type Of<E extends DeliveryCommand['event']> = Extract<DeliveryCommand, { event: E }>;

/**
 * `NOTHING_TO_DO`: the delivery already is as the command wants it. `LEASED`: a process may be sending it. `NOT_DUE`:
 * it waits for its next attempt. `STALE`: another process has started another attempt.
 */
export type DeliveryRefusal = 'NOT_ALLOWED' | 'NOTHING_TO_DO' | 'LEASED' | 'NOT_DUE' | 'STALE';

export type DeliveryDecision = { readonly refused: DeliveryRefusal } | { readonly next: Delivery };

/** How long its log is kept after its last change, in milliseconds. */
export const DELIVERY_RETENTION_MS = 30 * 86_400_000;

/** How many attempts the log shows, and how many of these, the newest, with the body of their answer. */
export const MAX_LOGGED_ATTEMPTS = 20;
export const MAX_LOGGED_BODIES = 10;

/** How long after its time recovery takes a wake-up for lost, in milliseconds. */
const ATTENTION_MARGIN_MS = 60_000;

/** Decides one command on one version of a delivery. Pure; the store applies the result only onto that version. */
export function decideDelivery(delivery: Delivery, command: DeliveryCommand, now: number): DeliveryDecision {
  const allowed = DELIVERY_TRANSITIONS[delivery.state][command.event];
  if (allowed === undefined) return { refused: 'NOT_ALLOWED' };
  const changed = change(delivery, command, now);
  if ('refused' in changed) return changed;
  const updatedAt = Math.max(now, delivery.updatedAt);
  const next = { ...changed.next, version: delivery.version + 1, updatedAt };
  assert(allowed.includes(next.state), `a delivery that is ${delivery.state} does not become ${next.state}`);
  assert(isOpen(next) === (next.nextAttemptAt !== undefined), 'exactly an open delivery has a next attempt');
  return { next: command.event === 'postpone' ? { ...next, dueAt: command.until } : withAttention(next) };
}

/** A new delivery, as of before it is inserted. */
export function announced(
  base: Omit<Delivery, 'version' | 'state' | 'updatedAt' | 'attemptsMade' | 'attempts' | 'nextAttemptAt' | 'dueAt'>,
  isDisabled: boolean,
): Delivery {
  const fresh = { ...base, version: 1, updatedAt: base.createdAt, attemptsMade: 0, attempts: [], dueAt: 0 };
  return withAttention(
    isDisabled ? { ...fresh, state: 'disabled' } : { ...fresh, state: 'pending', nextAttemptAt: base.createdAt },
  );
}

function change(d: Delivery, command: DeliveryCommand, now: number): DeliveryDecision {
  switch (command.event) {
    case 'announce':
      return announce(d, command, now);
    case 'begin':
      return begin(d, command, now);
    case 'end-attempt':
      return endAttempt(d, command, now);
    case 'disable':
      return { next: closed(d, 'disabled') };
    case 'cancel':
      return { next: closed(d, 'cancelled') };
    case 'replay':
      return replay(d, now);
    case 'postpone':
      return { next: d };
  }
}

function announce(d: Delivery, command: Of<'announce'>, now: number): DeliveryDecision {
  if (!isLater(command.of, d.event)) return { refused: 'NOTHING_TO_DO' };
  const told = { ...d, event: command.of, occurredAt: command.at, attemptsMade: 0 };
  if (command.isDisabled) return { next: closed(told, 'disabled') };
  return { next: { ...told, state: 'pending', nextAttemptAt: now } };
}

/** A message that is being sent does not satisfy the replay, so it is sent once more. */
function replay({ lease, ...rest }: Delivery, now: number): DeliveryDecision {
  const kept = lease === undefined ? {} : { lease: { ...lease, isReplayed: true as const } };
  return { next: { ...rest, ...kept, state: 'pending', attemptsMade: 0, nextAttemptAt: now } };
}

function begin(d: Delivery, { token, leaseMs }: Of<'begin'>, now: number): DeliveryDecision {
  if (isLeased(d, now)) return { refused: 'LEASED' };
  if (!isDue(d, now)) return { refused: 'NOT_DUE' };
  const lease = { token, event: d.event, startedAt: now, expiresAt: now + leaseMs };
  return {
    next: { ...d, attempts: withAbandoned(d), attemptsMade: d.attemptsMade + 1, lease, nextAttemptAt: now },
  };
}

function endAttempt(d: Delivery, { token, end, afterFailure }: Of<'end-attempt'>, now: number): DeliveryDecision {
  const { lease, ...rest } = d;
  if (lease?.token !== token) return { refused: 'STALE' };
  const { event, startedAt } = lease;
  const attempt = { event, startedAt, durationMs: Math.max(0, now - startedAt), ...end };
  const ended = { ...rest, attempts: logged(d, attempt) };
  // The event that was sent is not the newest any more, or is to be replayed, so another attempt follows.
  if (event !== d.event || lease.isReplayed) return { next: isOpen(d) ? { ...ended, nextAttemptAt: now } : ended };
  if (end.result === 'delivered') return { next: closed(ended, 'delivered') };
  if (!isOpen(d)) return { next: ended };
  if (typeof afterFailure === 'string') return { next: closed(ended, afterFailure) };
  return { next: { ...ended, state: 'retrying', nextAttemptAt: now + afterFailure.retryMs } };
}

/** The lease stays: whoever holds it may be sending, and reports how that ended. */
function closed(d: Delivery, state: DeliveryState): Delivery {
  const { nextAttemptAt: _nextAttemptAt, ...rest } = d;
  return { ...rest, state };
}

/** The unfinished attempt of a process that ended is logged once its lease is over. */
function withAbandoned(d: Delivery): readonly DeliveryAttempt[] {
  if (d.lease === undefined) return d.attempts;
  const { event, startedAt } = d.lease;
  return logged(d, { event, startedAt, durationMs: 0, result: 'unknown' });
}

function logged(d: Delivery, attempt: DeliveryAttempt): readonly DeliveryAttempt[] {
  const newest = [...d.attempts, attempt].slice(-MAX_LOGGED_ATTEMPTS);
  return newest.map((one, index) => (index < newest.length - MAX_LOGGED_BODIES ? withoutBody(one) : one));
}

function withoutBody({ body: _body, ...attempt }: DeliveryAttempt): DeliveryAttempt {
  return attempt;
}

/**
 * Whether a process may be sending it. A message may still be in transit when its process is known to be dead, so the
 * lease holds until it expires.
 */
function isLeased({ lease }: Delivery, now: number): boolean {
  return lease !== undefined && lease.expiresAt > now && !isFarAhead(lease.startedAt, now);
}

/** A time that was set by a clock far ahead does not count. */
function isDue({ nextAttemptAt = 0, updatedAt }: Delivery, now: number): boolean {
  return nextAttemptAt <= now || isFarAhead(updatedAt, now);
}

/** The earliest time of its next attempt. */
export function dueFrom(d: Delivery, now: number): number {
  const from = isDue(d, now) ? now : (d.nextAttemptAt ?? now);
  return isLeased(d, now) ? Math.max(from, d.lease?.expiresAt ?? from) : from;
}

function withAttention(d: Delivery): Delivery {
  if (!isOpen(d)) return { ...d, dueAt: d.updatedAt + DELIVERY_RETENTION_MS };
  return { ...d, dueAt: Math.max(d.nextAttemptAt ?? 0, d.lease?.expiresAt ?? 0) + ATTENTION_MARGIN_MS };
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The delay after each failed attempt, in milliseconds: 75 hours in total. */
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

/** How often a message is sent before its delivery fails. */
export const MAX_ATTEMPTS = DELAYS_MS.length + 1;

/** The longest wait that an endpoint may ask for, in milliseconds. */
const RETRY_AFTER_CAP_MS = 24 * HOUR;

/** Jitter, as a fraction of the delay, so that deliveries that failed together are not retried together. */
const JITTER = 0.1;

/**
 * The delay before the next attempt, in milliseconds, once `attemptsMade` have failed; undefined if there is none.
 * `askedMs` is the delay that the endpoint's Retry-After requests.
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

/** Positions of random digits in an id: ids of deliveries are digests, except for their version and variant. */
const FREE_DIGITS = [0, 4, 20] as const;

/** At least 0 and below 1. */
function fractionOf(deliveryId: string, attemptsMade: number): number {
  const from = FREE_DIGITS[(attemptsMade - 1) % FREE_DIGITS.length] ?? 0;
  return Number.parseInt(deliveryId.replaceAll('-', '').slice(from, from + 8), 16) / 2 ** 32;
}
