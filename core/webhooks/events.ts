import type { GenerationStatus } from '../generation/generation.js';

/** What endpoints can be told of. */
export const WEBHOOK_EVENTS = [
  'generation.running',
  'generation.succeeded',
  'generation.failed',
  'generation.cancelled',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** What an endpoint is told of unless its client chooses. */
export const END_EVENTS: readonly WebhookEvent[] = WEBHOOK_EVENTS.filter((event) => event !== 'generation.running');

/** The event of a generation's newest state; undefined for one that is queued. */
export function eventOf(status: GenerationStatus): WebhookEvent | undefined {
  return WEBHOOK_EVENTS.find((event) => event === `generation.${status}`);
}

/** Whether `a` happens to a generation after `b`. All ends come after its start, and it has only one of them. */
export function isLater(a: WebhookEvent, b: WebhookEvent): boolean {
  return END_EVENTS.includes(a) && !END_EVENTS.includes(b);
}
