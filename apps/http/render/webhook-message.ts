import type { WebhookMessage } from '../../../core/ports/webhook-sender.js';
import { renderTask } from './generation-task.js';
import { timestamp } from './timestamp.js';

/** The body of a message to a webhook endpoint: what happened, when, and the task as `GET` shows it now. */
export function renderWebhookMessage({
  event,
  occurredAt,
  view,
}: Pick<WebhookMessage, 'event' | 'occurredAt' | 'view'>): object {
  return { type: event, timestamp: timestamp(occurredAt), data: renderTask(view) };
}
