import type { Context } from '../context.js';
import { changeWebhooks, withEndpoint } from './change-webhooks.js';
import type { Delivery } from './delivery.js';
import type { Destination, DisabledBecause, WebhookEndpoint } from './endpoint.js';

/** An endpoint that fails for so long without one success is disabled, in milliseconds. */
export const FAILING_MS = 5 * 86_400_000;

/** A delivery succeeded: an endpoint that was failing when it began is not any more. */
export async function noteSuccess(context: Context, delivery: Delivery, known: Destination): Promise<void> {
  if (known.failingSince === undefined) return;
  await note(context, delivery, known.endpointId, (endpoint) => {
    if (endpoint.failingSince === undefined) return undefined;
    const { failingSince: _failingSince, ...rest } = endpoint;
    return rest;
  });
}

/**
 * An attempt failed. Disables an endpoint that says that it is gone, and one that has failed for `FAILING_MS`; writes
 * nothing while it is failing and its time is not over.
 */
export async function noteFailure(
  context: Context,
  delivery: Delivery,
  { endpointId, failingSince }: Destination,
  isGone: boolean,
): Promise<void> {
  const now = context.clock.now();
  if (!isGone && failingSince !== undefined && now - failingSince < FAILING_MS) return;
  await note(context, delivery, endpointId, (endpoint) => {
    if (endpoint.disabled !== undefined) return undefined;
    if (isGone) return disabledFor(endpoint, 'gone', now);
    if (endpoint.failingSince === undefined) return { ...endpoint, failingSince: now };
    return now - endpoint.failingSince >= FAILING_MS ? disabledFor(endpoint, 'failing', now) : undefined;
  });
}

function disabledFor(endpoint: WebhookEndpoint, because: DisabledBecause, at: number): WebhookEndpoint {
  return { ...endpoint, disabled: { at, because }, updatedAt: at };
}

async function note(
  context: Context,
  delivery: Delivery,
  endpointId: string,
  change: (endpoint: WebhookEndpoint) => WebhookEndpoint | undefined,
): Promise<void> {
  let changed: WebhookEndpoint | undefined;
  await changeWebhooks(context, delivery, (webhooks) => {
    const endpoint = webhooks.endpoints.find((one) => one.endpointId === endpointId);
    changed = endpoint && change(endpoint);
    return changed && withEndpoint(webhooks, changed);
  });
  if (changed?.disabled !== undefined)
    context.log.warn('webhook endpoint disabled', {
      endpointId,
      appId: delivery.appId,
      because: changed.disabled.because,
    });
}
