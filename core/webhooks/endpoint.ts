import type { GenerationStatus } from '../generation/generation.js';

/** The events that endpoints can subscribe to. */
export const WEBHOOK_EVENTS = [
  'generation.running',
  'generation.succeeded',
  'generation.failed',
  'generation.cancelled',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** The event of a message that its client requests to try an endpoint; endpoints cannot subscribe to it. */
export const TEST_EVENT = 'generation.test';

/** The events that messages report. */
export const SENT_EVENTS = [...WEBHOOK_EVENTS, TEST_EVENT] as const;
export type SentEvent = (typeof SENT_EVENTS)[number];

/** The events that an endpoint receives unless its client chooses others. */
export const END_EVENTS: readonly WebhookEvent[] = WEBHOOK_EVENTS.filter((event) => event !== 'generation.running');

/** The event of a generation's newest state; undefined for one that is queued. */
export function eventOf(status: GenerationStatus): WebhookEvent | undefined {
  return WEBHOOK_EVENTS.find((event) => event === `generation.${status}`);
}

/** Whether `a` happens to a generation after `b`. All ends come after its start, and it has only one of them. */
export function isLater(a: SentEvent, b: SentEvent): boolean {
  return isEnd(a) && !isEnd(b);
}

function isEnd(event: SentEvent): boolean {
  return END_EVENTS.some((one) => one === event);
}

export const MAX_ENDPOINTS_PER_APP = 10;

/** How long messages are signed by the secret before the newest one too, in milliseconds. */
const PREVIOUS_SECRET_MS = 86_400_000;

/**
 * The secret that signs the messages of an endpoint. Secrets are derived from the installation's own secret, the
 * endpoint's id and a number, so that none is stored.
 */
export interface SigningSecret {
  /** Starts at 1 and increases by one with each rotation. */
  readonly number: number;
  readonly madeAt: number;
}

/** `client`: by its own request. `gone`: the address answered 410. `failing`: no delivery succeeded for five days. */
export const DISABLED_BECAUSE = ['client', 'gone', 'failing'] as const;
export type DisabledBecause = (typeof DISABLED_BECAUSE)[number];

/** A URL of an App that receives events. All times are milliseconds since the epoch. */
export interface WebhookEndpoint {
  readonly endpointId: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly description?: string;
  readonly secret: SigningSecret;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly disabled?: { readonly at: number; readonly because: DisabledBecause };
  /** When its first attempt failed after the last one that succeeded. */
  readonly failingSince?: number;
}

/** All endpoints of one App, in one record, so that one read finds all receivers of an event. */
export interface AppWebhooks {
  readonly appId: string;
  readonly accountId: string;
  /** Grows by one with every change; a change applies only onto the version it was decided on. */
  readonly version: number;
  readonly endpoints: readonly WebhookEndpoint[];
  /** Signs the messages to URLs of single generations; created on the client's first request. */
  readonly defaultSecret?: SigningSecret;
}

/** The destination of a delivery: an endpoint, or the URL that one generation was created with. */
export interface Destination {
  /** The endpoint's id; for the URL of one generation, the App's id. */
  readonly endpointId: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly secret: SigningSecret;
  readonly disabled?: WebhookEndpoint['disabled'];
  readonly failingSince?: number;
}

export function newAppWebhooks(appId: string, accountId: string): AppWebhooks {
  return { appId, accountId, version: 0, endpoints: [] };
}

/** The destination with this id, if there is one; `url` is that of the one generation that it is used for. */
export function destinationOf(
  webhooks: AppWebhooks | null,
  { endpointId, url }: { readonly endpointId: string; readonly url?: string | undefined },
): Destination | undefined {
  if (url === undefined) return webhooks?.endpoints.find((endpoint) => endpoint.endpointId === endpointId);
  const secret = webhooks?.defaultSecret;
  return secret && { endpointId, url, events: END_EVENTS, secret };
}

/** A new secret in place of `current`, which stays valid for `PREVIOUS_SECRET_MS`. */
export function nextSecret(current: SigningSecret | undefined, now: number): SigningSecret {
  return { number: (current?.number ?? 0) + 1, madeAt: now };
}

/** Until when the previous secret is valid; undefined if there is no valid one. */
export function previousValidUntil({ number, madeAt }: SigningSecret, now: number): number | undefined {
  const until = madeAt + PREVIOUS_SECRET_MS;
  return number > 1 && now < until ? until : undefined;
}

interface KeyedDigests {
  readonly digests: { keyed(text: string): string };
}

/** The key of the newest secret: 32 bytes in hex. */
export function signingKey(
  { digests }: KeyedDigests,
  endpointId: string,
  { number }: Pick<SigningSecret, 'number'>,
): string {
  return digests.keyed(`webhook-secret:${endpointId}:${number}`);
}

/** The keys that sign a message now, the newest first. */
export function signingKeys(
  ports: KeyedDigests,
  endpointId: string,
  secret: SigningSecret,
  now: number,
): readonly string[] {
  const newest = signingKey(ports, endpointId, secret);
  if (previousValidUntil(secret, now) === undefined) return [newest];
  return [newest, signingKey(ports, endpointId, { number: secret.number - 1 })];
}
