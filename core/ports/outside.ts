import type { AbortSignalLike } from '../cancellation.js';
import type { GenerationView } from '../generation/generation.js';
import type { AnswerBody, AttemptFault } from '../webhooks/delivery.js';
import type { SentEvent } from '../webhooks/endpoint.js';
import type { IdentityKey } from './stores.js';

/** The values that a sign-in at the provider is checked against when the browser comes back. */
export interface ProviderChecks {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** Whom the provider has signed in. */
export interface ProvenIdentity extends IdentityKey {
  /** When the person authenticated there; absent if the provider does not report it. */
  readonly authenticatedAt?: number;
}

/**
 * An outside OpenID provider. Its calls go over the network. Both methods throw SERVICE_UNAVAILABLE when it does not
 * answer as it should.
 */
export interface OutsideProvider {
  /** The name that people know it by. */
  readonly name: string;

  /**
   * Returns the URL for the browser, and the checks for its return. With `isAgain` the person is to authenticate now,
   * and the provider to report when they did.
   */
  begin(how: { readonly isAgain: boolean }): Promise<{ readonly location: string; readonly checks: ProviderChecks }>;

  /**
   * Returns the person who has signed in, once the browser is back at `currentUrl`. Null where the person has not: they gave up, or the
   * answer is not one to these checks.
   */
  finish(currentUrl: string, checks: ProviderChecks): Promise<ProvenIdentity | null>;

  close(): Promise<void>;
}

/** A message to an endpoint. */
export interface WebhookMessage {
  readonly url: string;
  /** The same in each attempt. */
  readonly messageId: string;
  readonly event: SentEvent;
  /** When the event happened, in milliseconds. */
  readonly occurredAt: number;
  /** The generation as it is now. */
  readonly view: GenerationView;
  /** The keys that sign it, 32 bytes each, in hex. */
  readonly keys: readonly string[];
}

/**
 * The response of an endpoint, if there was one. It has a body only if that came from an address of the public internet:
 * a client must not read through us what only the operator's network shows.
 */
export type SendOutcome =
  | { readonly status: number; readonly retryAfterMs?: number; readonly body?: AnswerBody }
  | { readonly fault: AttemptFault };

/** Sends messages to the addresses of clients, which are not to be trusted. */
export interface WebhookSender {
  /** The fault of an address, as the end of a sentence that begins with its name; undefined if it can be used. */
  addressFault(url: string): string | undefined;

  /** Sends it once, and follows no redirect. Rejects only once the signal is aborted. */
  send(message: WebhookMessage, signal: AbortSignalLike): Promise<SendOutcome>;
}
