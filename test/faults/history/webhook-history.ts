import type { JsonObject } from '../../../core/json.js';

/**
 * What a receiver does with the messages to an endpoint while nothing goes wrong: it takes them, refuses every one, or
 * answers after some that it is gone.
 */
export type Conduct = 'takes' | 'refuses' | 'leaves';

/** A webhook as its client made it, or all addresses of single generations of an App. */
export interface KnownEndpoint {
  /** Its path at the receiver. */
  readonly name: string;
  /** As the API names it; `default` for addresses of single generations. */
  readonly webhookId: string;
  /** The party whose App it is of. */
  readonly by: string;
  readonly events: readonly string[];
  /** When the answer had come: what is created afterwards is told. */
  readonly madeAt: number;
  readonly conduct: Conduct;
}

/** A message as it came to a receiver. Times are milliseconds of the clock of clients. */
export interface Message {
  readonly endpoint: string;
  /** When all of it had come. */
  readonly at: number;
  readonly id: string;
  /** Why the public library of Standard Webhooks refuses it, by the secret that the endpoint was made with. */
  readonly signatureFault?: string;
  readonly type: string;
  readonly task: JsonObject;
  /** When the receiver answered, and with what; absent while it has not. */
  readonly answered?: { readonly at: number; readonly status: number };
}

/** A delivery as the log of its endpoint shows it in the end. */
export interface LoggedDelivery {
  readonly endpoint: string;
  readonly generationId: string;
  readonly event: string;
  readonly state: string;
}

export interface SeenWebhooks {
  readonly endpoints: readonly KnownEndpoint[];
  /** In the order in which they came. */
  readonly messages: readonly Message[];
  readonly deliveries: readonly LoggedDelivery[];
  /** Of each endpoint in the end: why it is disabled, undefined for one that is not. */
  readonly disabledBecause: Readonly<Record<string, string | undefined>>;
  /** How often somebody went where a receiver had pointed. */
  readonly followedRedirects: number;
}
