import type { Cancellation } from '../cancellation.js';
import type { AppWebhooks } from '../webhooks/endpoint.js';

/**
 * Keeps one record for each App that has webhook endpoints. Each method is atomic for one record. Every method may throw
 * `StoreUnavailable`. A read that is given a `Cancellation` ends with `CallOver` as soon as the call is over.
 */
export interface WebhookEndpointStore {
  /** The newest committed record of an App, or null. */
  read(appId: string, call?: Cancellation): Promise<AppWebhooks | null>;

  /** Writes the record if its version is still the expected one, which is 0 where there is none. Durable on return. */
  replace(next: AppWebhooks, expectedVersion: number): Promise<'applied' | 'conflict'>;
}
