import { ServiceError } from '../../core/errors.js';
import type { RestMiddleware } from './rest-context.js';
import { sendAnswer } from './send.js';

export const UP = { status: 'up' } as const;
export const READY = { status: 'ready' } as const;

export interface ReadinessParts {
  /** Whether the stores answer. */
  readonly readiness: () => Promise<boolean>;
  readonly isStopping: () => boolean;
}

/** Whether work should be sent to this process: not before its stores answer, and not once it is stopping. */
export async function isReady({ readiness, isStopping }: ReadinessParts): Promise<boolean> {
  return !isStopping() && (await readiness().catch(() => false));
}

/** Whether the process answers at all; says nothing of its stores. */
export const serveHealth: RestMiddleware = async (ctx) => {
  ctx.state.route = '/healthz';
  await sendAnswer(ctx, 200, { data: UP });
};

/** Whether requests should be sent here. */
export function serveReadiness(parts: ReadinessParts): RestMiddleware {
  return async (ctx) => {
    ctx.state.route = '/readyz';
    if (!(await isReady(parts))) throw new ServiceError('SERVICE_UNAVAILABLE', 'This process should not be sent requests right now.', { retryAfterMs: 1_000 });
    await sendAnswer(ctx, 200, { data: READY });
  };
}
