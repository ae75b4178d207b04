import type { Logger } from 'pino';
import { ServiceError, StoreUnavailable } from '../../core/errors.js';
import { errorEnvelope } from './envelope.js';
import type { RestContext } from './rest-context.js';
import { send } from './send.js';
import { STATUSES } from './statuses.js';

/** How long a client should wait when a store is away and nobody knows for how long. */
const UNAVAILABLE_RETRY_MS = 2_000;

/** The one place where an error becomes an answer. What we did not expect is logged whole and told to nobody. */
export async function answerError(ctx: RestContext, error: unknown, logger: Logger): Promise<void> {
  const refusal = asServiceError(error);
  const { code, message, details } = refusal;
  const status = STATUSES[code];
  ctx.state.errorCode = code;
  if (refusal !== error) logger.error({ requestId: ctx.state.requestId, route: ctx.state.route, code, err: error }, 'request failed');
  const { res } = ctx;
  if (res.headersSent) {
    res.destroy();
    return;
  }
  if (status === 401) res.setHeader('WWW-Authenticate', 'Bearer');
  // What has not arrived by now is not waited for.
  if (code === 'REQUEST_TIMEOUT') res.setHeader('Connection', 'close');
  const { retryAfterMs } = details;
  if (retryAfterMs !== undefined) res.setHeader('Retry-After', Math.max(1, Math.ceil(retryAfterMs / 1_000)));
  res.setHeader('Cache-Control', 'no-store');
  await send(ctx, status, errorEnvelope(ctx.state.requestId, code, message));
}

function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof StoreUnavailable) return new ServiceError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: UNAVAILABLE_RETRY_MS });
  return new ServiceError('INTERNAL_ERROR');
}
