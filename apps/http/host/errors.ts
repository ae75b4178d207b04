import type { Logger } from 'pino';
import { messageOf } from '../../requests/message-of.js';
import { bearerChallenge } from './bearer-challenge.js';
import { errorEnvelope } from './envelope.js';
import type { ErrorRenderer, HttpContext } from './http-context.js';
import { HTTP_MESSAGES } from './messages.js';
import { notedRefusal } from './noted-refusal.js';
import { JSON_TYPE, sendText } from './send.js';
import { STATUSES } from './statuses.js';

/** The one place where an error becomes an answer. */
export async function answerError(ctx: HttpContext, error: unknown, logger: Logger): Promise<void> {
  const refusal = notedRefusal(error, ctx.state, logger);
  const { code, details } = refusal;
  const status = STATUSES[code];
  const { res } = ctx;
  if (res.headersSent) {
    res.destroy();
    return;
  }
  const { renderError = inEnvelope, requestId, resourceMetadata } = ctx.state;
  if ((status === 401 || status === 403) && renderError === inEnvelope)
    res.setHeader('WWW-Authenticate', bearerChallenge({ code, scope: details.scope, resourceMetadata }));
  // What has not arrived by now is not waited for.
  if (code === 'REQUEST_TIMEOUT') res.setHeader('Connection', 'close');
  const { retryAfterMs, availableCredits, pointer } = details;
  if (availableCredits !== undefined) res.setHeader('Darkroom-Credits-Available', availableCredits);
  if (retryAfterMs !== undefined) res.setHeader('Retry-After', Math.max(1, Math.ceil(retryAfterMs / 1_000)));
  res.setHeader('Cache-Control', 'no-store');
  const message = messageOf(refusal, HTTP_MESSAGES);
  const { text, mediaType } = renderError({ status, code, message, requestId, pointer });
  await sendText(ctx, status, { mediaType, text });
}

const inEnvelope: ErrorRenderer = ({ requestId, code, message }) => ({
  mediaType: JSON_TYPE,
  text: errorEnvelope(requestId, code, message),
});
