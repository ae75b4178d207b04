import { Check, Clock, X } from 'lucide-preact';
import {
  type Delivery,
  type DeliveryAttempt,
  type DeliveryState,
  WEBHOOK_EVENTS,
  type WebhookEvent,
} from '../api-types.js';
import { appName, useApps } from '../apps/usable-apps.js';
import { numberText, spanText } from '../format.js';
import { Icon } from '../parts/icon.js';
import type { Look } from '../parts/parts.js';
import type { AccountWebhook, App } from '../server-types.js';

/** Names the URLs of single generations, in place of a webhook. */
export const PER_REQUEST = 'default';

/** The events that messages report, in the order of the page. */
export const SENT_EVENTS: readonly Delivery['event'][] = [...WEBHOOK_EVENTS, 'generation.test'];

export const EVENT_TEXTS: Readonly<Record<WebhookEvent, string>> = {
  'generation.running': 'A generation starts',
  'generation.succeeded': 'It ends with at least one output',
  'generation.failed': 'It ends without an output',
  'generation.cancelled': 'It is cancelled',
};

type Health = AccountWebhook['health']['state'];

export const HEALTH_TEXTS: Readonly<Record<Health, string>> = {
  healthy: 'Healthy',
  failing: 'Failing',
  paused: 'Paused',
  unused: 'Unused',
};

export const HEALTH_LOOKS: Readonly<Record<Health, Look | undefined>> = {
  healthy: 'ok',
  failing: 'fail',
  paused: 'fail',
  unused: undefined,
};

export const STATE_TEXTS: Readonly<Record<DeliveryState, string>> = {
  pending: 'Waiting',
  retrying: 'Retrying',
  delivered: 'Delivered',
  exhausted: 'Gave up',
  disabled: 'Not sent',
  cancelled: 'Cancelled',
};

export const STATE_LOOKS: Readonly<Record<DeliveryState, Look | undefined>> = {
  pending: 'active',
  retrying: 'active',
  delivered: 'ok',
  exhausted: 'fail',
  disabled: undefined,
  cancelled: undefined,
};

export function isWaiting({ state }: Pick<Delivery, 'state'>): boolean {
  return state === 'pending' || state === 'retrying';
}

/** What the word for the state does not say; the time until the next try counts down with `now`. */
export function stateNote({ state, attempts_made: tries, next_attempt_at: next }: Delivery, now: number): string {
  if (state === 'disabled') return 'The webhook was disabled.';
  if (state === 'cancelled') return 'The generation or the webhook was deleted.';
  if (state === 'exhausted') return `after ${triesText(tries)}`;
  const left = next === undefined ? 0 : Date.parse(next) - now;
  if (!isWaiting({ state })) return '';
  const seconds = Math.ceil(left / 1_000);
  if (left > 0) return `next try in ${seconds < 60 ? `${seconds} s` : spanText(seconds * 1_000)}`;
  return state === 'pending' ? 'sending now' : 'trying again now';
}

export function triesText(count: number): string {
  return count === 1 ? '1 try' : `${numberText(count)} tries`;
}

const FAULT_WORDS: Readonly<Record<NonNullable<DeliveryAttempt['fault']>, string>> = {
  address: 'refused',
  connection: 'no connection',
  timeout: 'timeout',
  answer: 'not HTTP',
};

const FAULT_TEXTS: typeof FAULT_WORDS = {
  address: 'The service must not call this address.',
  connection: 'The receiver could not be reached.',
  timeout: 'The receiver gave no response in time.',
  answer: 'The response is not HTTP, or too large.',
};

/** The result of an attempt in a word: its HTTP status, or why there was none. */
export function resultWord({ result, status, fault }: DeliveryAttempt): string {
  if (status !== undefined) return String(status);
  return fault === undefined ? result : FAULT_WORDS[fault];
}

/** Why an attempt has no response; undefined where it has one. */
export function faultText({ result, status, fault }: DeliveryAttempt): string | undefined {
  if (fault !== undefined) return FAULT_TEXTS[fault];
  if (status !== undefined || result === 'delivered') return undefined;
  return result === 'unknown' ? 'The service stopped before the response.' : undefined;
}

/** The names of Apps, as their filter has them. */
export function useAppNames(): (app: App) => string {
  const apps = useApps().value?.apps ?? [];
  return ({ id, name }) => {
    const usable = apps.find((one) => one.id === id);
    return usable === undefined ? (name ?? id) : appName(usable);
  };
}

/** A URL as a title: without `https://`. */
export function shortUrl(url: string): string {
  return url.replace(/^https:\/\//, '');
}

export function EventTags({ events }: { readonly events: readonly string[] }) {
  return (
    <ul class="tags">
      {events.map((event) => (
        <li key={event} class="tag mono">
          {event}
        </li>
      ))}
    </ul>
  );
}

/** How the last attempt ended: a check or a cross with the HTTP status. */
export function HttpStatus({ attempt }: { readonly attempt: DeliveryAttempt | undefined }) {
  if (attempt === undefined)
    return (
      <span class="http faint">
        <Icon of={Clock} size={14} />–
      </span>
    );
  const isGood = attempt.result === 'delivered';
  return (
    <span class={isGood ? 'http ok' : 'http fail'}>
      <Icon of={isGood ? Check : X} size={14} />
      {resultWord(attempt)}
    </span>
  );
}
