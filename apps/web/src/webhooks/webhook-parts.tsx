import type { Delivery, DeliveryAttempt, DeliveryState } from '../api-types.js';
import { appName, useApps } from '../use-apps.js';
import { numberText, spanText } from '../format.js';
import { Icon } from '../parts/icon.js';
import { Badge, type Look } from '../parts/parts.js';
import type { AccountDelivery, AccountWebhook, App } from '../server-types.js';

/** Names the URLs of single generations, in place of a webhook. */
export const PER_REQUEST = 'default';

/** A page of deliveries. */
export interface Deliveries {
  readonly deliveries: readonly AccountDelivery[];
  readonly next_cursor?: string;
}

type Words<T extends string> = Readonly<Record<T, readonly [text: string, look?: Look]>>;

const HEALTH: Words<AccountWebhook['health']['state']> = {
  healthy: ['Healthy', 'ok'],
  failing: ['Failing', 'fail'],
  paused: ['Disabled', 'fail'],
  unused: ['Unused'],
};

export const STATES: Words<DeliveryState> = {
  pending: ['Waiting', 'active'],
  retrying: ['Retrying', 'active'],
  delivered: ['Delivered', 'ok'],
  exhausted: ['Gave up', 'fail'],
  disabled: ['Not sent'],
  cancelled: ['Cancelled'],
};

export function HealthBadge({ of: { health, disabled_because: because } }: { of: AccountWebhook }) {
  const [text, look] = HEALTH[health.state];
  // A webhook that a person disabled is not shown as a fault.
  return <Badge look={because === 'client' ? undefined : look}>{text}</Badge>;
}

export function isWaiting(state: DeliveryState): boolean {
  return state === 'pending' || state === 'retrying';
}

/** What the word for the state does not say; the time until the next try counts down with `now`. */
export function stateNote({ state, attempts_made: tries, next_attempt_at: next }: Delivery, now: number): string {
  if (state === 'disabled') return 'The webhook was disabled.';
  if (state === 'cancelled') return 'The generation or the webhook was deleted.';
  if (state === 'exhausted') return tries === 1 ? 'after 1 try' : `after ${numberText(tries)} tries`;
  if (!isWaiting(state)) return '';
  const seconds = next === undefined ? 0 : Math.ceil((Date.parse(next) - now) / 1_000);
  if (seconds > 0) return `next try in ${seconds < 60 ? `${seconds} s` : spanText(seconds * 1_000)}`;
  return state === 'pending' ? 'sending now' : 'trying again now';
}

type FaultName = NonNullable<DeliveryAttempt['fault']>;

/** Why an attempt has no response, in a word and in a sentence. */
const FAULTS: Readonly<Record<FaultName, readonly [word: string, text: string]>> = {
  address: ['refused', 'The service must not call this address.'],
  connection: ['no connection', 'The receiver could not be reached.'],
  timeout: ['timeout', 'The receiver gave no response in time.'],
  answer: ['not HTTP', 'The response is not HTTP, or too large.'],
};

/** Why an attempt has no response; undefined where it has one. */
export function faultText({ result, status, fault }: DeliveryAttempt): string | undefined {
  if (fault !== undefined) return FAULTS[fault][1];
  return status === undefined && result === 'unknown' ? 'The service stopped before the response.' : undefined;
}

/** How the last attempt ended: a check or a cross with the HTTP status, or why there was none. */
export function HttpStatus({ attempt }: { attempt: DeliveryAttempt | undefined }) {
  if (attempt === undefined)
    return (
      <span class="http faint">
        <Icon of="clock" size={14} />–
      </span>
    );
  const { result, status, fault } = attempt;
  const isGood = result === 'delivered';
  return (
    <span class={isGood ? 'http ok' : 'http fail'}>
      <Icon of={isGood ? 'check' : 'x'} size={14} />
      {status ?? (fault === undefined ? result : FAULTS[fault][0])}
    </span>
  );
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

export function EventTags({ events }: { events: readonly string[] }) {
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
