import { ServiceError } from '../../core/errors.js';
import type { RestMiddleware } from './rest-context.js';
import { sendAnswer } from './send.js';

const UP = { data: { status: 'up' } } as const;
const READY = { data: { status: 'ready' } } as const;

/** Whether the process answers at all; says nothing of its stores. */
export const serveHealth: RestMiddleware = async (ctx) => {
  ctx.state.route = '/healthz';
  await sendAnswer(ctx, 200, UP);
};

/** Whether requests should be sent here: not before the stores answer, and not once the process is stopping. */
export function serveReadiness(
  { readiness, isStopping }: { readonly readiness: () => Promise<boolean>; readonly isStopping: () => boolean },
): RestMiddleware {
  return async (ctx) => {
    ctx.state.route = '/readyz';
    const isReady = !isStopping() && (await readiness().catch(() => false));
    if (!isReady) throw new ServiceError('SERVICE_UNAVAILABLE', 'This process should not be sent requests right now.', { retryAfterMs: 1_000 });
    await sendAnswer(ctx, 200, READY);
  };
}
