import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { newAppWebhooks, type AppWebhooks, type WebhookEndpoint } from './endpoint.js';

const MAX_TRIES = 10;

/** Whose record it is. */
export interface WebhooksOwner {
  readonly accountId: string;
  readonly appId: string;
}

/**
 * Decides a change on the newest version of an App's record and writes it; undefined changes nothing. Tries again when
 * another process was faster, a bounded number of times. Answers the record as it is then. What `change` throws is thrown.
 */
export async function changeWebhooks(
  { webhookEndpoints }: Pick<Context, 'webhookEndpoints'>,
  { accountId, appId }: WebhooksOwner,
  change: (current: AppWebhooks) => AppWebhooks | undefined,
): Promise<AppWebhooks> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const current = (await webhookEndpoints.read(appId)) ?? newAppWebhooks(appId, accountId);
    const changed = change(current);
    if (changed === undefined) return current;
    const next = { ...changed, version: current.version + 1 };
    if ((await webhookEndpoints.replace(next, current.version)) === 'applied') return next;
  }
  throw new ServiceError(
    'SERVICE_UNAVAILABLE',
    'The webhooks of the App are being changed by too many processes at the same time; try again.',
    { retryAfterMs: 1_000 },
  );
}

/** The record with this endpoint in place of the one with its id. */
export function withEndpoint(webhooks: AppWebhooks, changed: WebhookEndpoint): AppWebhooks {
  return {
    ...webhooks,
    endpoints: webhooks.endpoints.map((one) => (one.endpointId === changed.endpointId ? changed : one)),
  };
}
