import type { AbortSignalLike } from '../abort-signal.js';
import type { GenerationView } from '../generation/generation-view.js';
import type { AttemptFault } from '../webhooks/delivery.js';
import type { WebhookEvent } from '../webhooks/events.js';

/** What an endpoint is told. */
export interface WebhookMessage {
  readonly url: string;
  /** The same in each attempt. */
  readonly messageId: string;
  readonly event: WebhookEvent;
  /** When the event happened, in milliseconds. */
  readonly occurredAt: number;
  /** The generation as it is now. */
  readonly view: GenerationView;
  /** The keys that sign it, 32 bytes each, in hex. */
  readonly keys: readonly string[];
}

/** How an endpoint answered, if it did. */
export type SendOutcome =
  | { readonly status: number; readonly retryAfterMs?: number }
  | { readonly fault: AttemptFault };

/** Sends messages to the addresses of clients, which are not to be trusted. */
export interface WebhookSender {
  /** What is wrong with an address, as the end of a sentence that begins with its name; undefined if it can be used. */
  addressFault(url: string): string | undefined;

  /** Sends it once, and follows no redirect. Rejects only once the signal is aborted. */
  send(message: WebhookMessage, signal: AbortSignalLike): Promise<SendOutcome>;
}
