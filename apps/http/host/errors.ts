import type { Logger } from 'pino';
import { loggedRefusal } from '../../logging/logged-fields.js';
import { messageOf } from '../../requests/message-of.js';
import { asServiceError, levelOf } from '../../requests/service-error.js';
import { errorEnvelope } from './envelope.js';
import type { HttpContext } from './http-context.js';
import { HTTP_MESSAGES } from './messages.js';
import { send } from './send.js';
import { STATUSES } from './statuses.js';

/**
 * The one place where an error becomes an answer. An unexpected error is logged completely and never shown to a client.
 */
export async function answerError(ctx: HttpContext, error: unknown, logger: Logger): Promise<void> {
  const refusal = asServiceError(error);
  const { code, details } = refusal;
  const status = STATUSES[code];
  ctx.state.refusal = loggedRefusal(refusal);
  if (refusal !== error)
    logger[levelOf(error)](
      { requestId: ctx.state.requestId, route: ctx.state.route, code, err: error },
      'request failed',
    );
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
  await send(ctx, status, errorEnvelope(ctx.state.requestId, code, messageOf(refusal, HTTP_MESSAGES)));
}
