import type { AttemptFault, DeliveryAttempt, DeliveryState, Webhook, WebhookEvent } from '../api-types.js';
import { timeText } from '../format.js';

export const EVENT_TEXTS: Readonly<Record<WebhookEvent, string>> = {
  'generation.running': 'begins to run',
  'generation.succeeded': 'succeeds',
  'generation.failed': 'fails',
  'generation.cancelled': 'is cancelled',
};

export const STATE_TEXTS: Readonly<Record<DeliveryState, string>> = {
  pending: 'Not yet tried',
  retrying: 'To be tried again',
  delivered: 'Delivered',
  exhausted: 'Given up',
  disabled: 'Not sent: the webhook was disabled',
  cancelled: 'Cancelled: the generation or the webhook was deleted',
};

const FAULT_TEXTS: Readonly<Record<AttemptFault, string>> = {
  address: 'the address must not be called',
  connection: 'no connection',
  timeout: 'no answer in time',
  answer: 'an answer that is not HTTP, or too large',
};

/** What became of one attempt. */
export function attemptText({ result, status, fault }: DeliveryAttempt): string {
  if (status !== undefined) return `answered ${status}`;
  if (fault !== undefined) return FAULT_TEXTS[fault];
  return result === 'unknown' ? 'the service ended before it saw the answer' : result;
}

/** Why nothing is sent to a webhook, and what to do; undefined for one that is told. */
export function disabledText({ disabled_because: because, disabled_at: at }: Webhook): string | undefined {
  if (because === undefined || at === undefined) return undefined;
  if (because === 'gone')
    return `Disabled ${timeText(at)}: it answered 410, which says that it is gone. Enable it once it is back.`;
  if (because === 'failing')
    return `Disabled ${timeText(at)}: nothing that was sent to it succeeded for five days. Enable it once it works, and send again what it missed.`;
  return `Disabled ${timeText(at)} on request.`;
}

export function eventsText(events: readonly WebhookEvent[]): string {
  return `a generation ${events.map((event) => EVENT_TEXTS[event]).join(', ')}`;
}
