import { createHash } from 'node:crypto';
import type { GenerationEvent, GenerationTask } from '../../../clients/typescript/src/index.js';
import { derivedUuid } from '../../../core/derived-uuid.js';
import { WEBHOOK_EVENTS, type WebhookEvent } from '../../../core/webhooks/events.js';

/** What a webhook would be sent of an event. */
export interface ListenedMessage {
  /** The same whenever the event comes again. */
  readonly messageId: string;
  readonly event: WebhookEvent;
  readonly generationId: string;
  /** When it happened, as the service writes it. */
  readonly occurredAt: string;
  readonly body: string;
}

/** Undefined for an event that no webhook is told of, and for a start that is told after the end. */
export function messageOf({ type, at, task }: GenerationEvent): ListenedMessage | undefined {
  const event = eventOf(type, task.status);
  if (event === undefined) return undefined;
  const generationId = task.generation_id;
  const digest = createHash('sha256').update(JSON.stringify(['listen', generationId, event]));
  return {
    messageId: `msg_${derivedUuid(digest.digest('hex'))}`,
    event,
    generationId,
    occurredAt: at,
    body: JSON.stringify({ type: event, timestamp: at, data: task }),
  };
}

function eventOf(type: GenerationEvent['type'], status: GenerationTask['status']): WebhookEvent | undefined {
  if (type !== 'ended' && (type !== 'running' || status !== 'running')) return undefined;
  return WEBHOOK_EVENTS.find((event) => event === `generation.${status}`);
}
