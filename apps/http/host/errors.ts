import type { Logger } from 'pino';
import type { ErrorCode, ServiceError } from '../../../core/errors.js';
import { loggedRefusal } from '../../logging/logged-fields.js';
import { asServiceError, type FrontMessages, levelOf, messageOf } from '../../service-errors.js';
import type { ErrorRenderer, HttpContext, HttpState } from './http-context.js';
import { errorEnvelope, JSON_TYPE, sendText } from './send.js';

/** The HTTP status of every error code. A code that is missing here does not compile. */
export const STATUSES: Readonly<Record<ErrorCode, number>> = {
  ROUTE_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  DEVELOPER_TOKEN_REQUIRED: 401,
  DEVELOPER_TOKEN_INVALID: 401,
  DEVELOPER_TOKEN_EXPIRED: 401,
  DEVELOPER_TOKEN_REVOKED: 401,
  RATE_LIMITED: 429,
  DEVELOPER_SCOPE_INSUFFICIENT: 403,
  ORIGIN_REFUSED: 403,
  SESSION_REQUIRED: 401,
  OPERATOR_REQUIRED: 403,
  PASSKEY_SIGN_IN_REQUIRED: 403,
  RECENT_SIGN_IN_REQUIRED: 403,
  IDEMPOTENCY_KEY_REQUIRED: 400,
  IDEMPOTENCY_KEY_INVALID: 400,
  MEDIA_TYPE_UNSUPPORTED: 415,
  BODY_TOO_LARGE: 413,
  BODY_INVALID: 400,
  REQUEST_TIMEOUT: 408,
  FIELD_REQUIRED: 422,
  FIELD_INVALID: 422,
  PASSKEY_REFUSED: 422,
  UPLOAD_FILE_TOO_LARGE: 413,
  UPLOAD_TYPE_NOT_ALLOWED: 415,
  IDEMPOTENCY_PAYLOAD_MISMATCH: 409,
  IDEMPOTENCY_IN_PROGRESS: 409,
  IDEMPOTENCY_REPLAY_EXPIRED: 409,
  UPLOAD_URL_EXPIRED: 410,
  TASK_NOT_FOUND: 404,
  GENERATION_JOB_NOT_FOUND: 404,
  QUEUE_FULL: 429,
  CREDITS_INSUFFICIENT: 402,
  SPENDING_NOT_CONFIRMED: 402,
  NOT_FOUND: 404,
  CONFLICT: 409,
  SERVICE_UNAVAILABLE: 503,
  INTERNAL_ERROR: 500,
};

/** Messages that name terms of HTTP. */
export const HTTP_MESSAGES = {
  DEVELOPER_TOKEN_REQUIRED: 'Send an API key or an OAuth access token as Authorization: Bearer <credential>.',
  IDEMPOTENCY_KEY_REQUIRED: 'Send an Idempotency-Key header.',
  IDEMPOTENCY_KEY_INVALID: 'Idempotency-Key must be one header of 1 to 255 visible ASCII characters.',
  IDEMPOTENCY_PAYLOAD_MISMATCH: 'This Idempotency-Key was first used with a different request.',
  IDEMPOTENCY_IN_PROGRESS: 'The first request with this Idempotency-Key is still being handled.',
  IDEMPOTENCY_REPLAY_EXPIRED: 'The answer to this Idempotency-Key is no longer kept; a new intent needs a new key.',
  MEDIA_TYPE_UNSUPPORTED: 'Send the body as application/json.',
} as const satisfies FrontMessages;

/** The one place where an error becomes an answer. */
export async function answerError(ctx: HttpContext, error: unknown, logger: Logger): Promise<void> {
  const refusal = notedRefusal(error, ctx.state, logger);
  const { code, details } = refusal;
  const { res } = ctx;
  if (res.headersSent) {
    res.destroy();
    return;
  }
  const { retryAfterMs, availableCredits, pointer } = details;
  const { renderError = inEnvelope, requestId } = ctx.state;
  const message = messageOf(refusal, HTTP_MESSAGES);
  const rendered = renderError({ status: STATUSES[code], code, message, requestId, pointer, refusal });
  const { status = STATUSES[code], reason } = rendered;
  if (reason !== undefined) res.statusMessage = reason;
  if ((status === 401 || status === 403) && rendered.isChallenged === true)
    res.setHeader('WWW-Authenticate', bearerChallenge(refusal, status, ctx.state));
  // Closes the connection, because the rest of the request is not awaited.
  if (code === 'REQUEST_TIMEOUT') res.setHeader('Connection', 'close');
  if (availableCredits !== undefined) res.setHeader('Darkroom-Credits-Available', availableCredits);
  if (retryAfterMs !== undefined) res.setHeader('Retry-After', Math.max(1, Math.ceil(retryAfterMs / 1_000)));
  res.setHeader('Cache-Control', 'no-store');
  await sendText(ctx, status, rendered);
}

const inEnvelope: ErrorRenderer = ({ requestId, code, message }) => ({
  mediaType: JSON_TYPE,
  text: errorEnvelope(requestId, code, message),
  isChallenged: true,
});

/**
 * The error that a client is shown, which the log line of the request names too. An unexpected error is logged completely
 * and never shown.
 */
export function notedRefusal(error: unknown, state: HttpState, logger: Logger): ServiceError {
  const refusal = asServiceError(error);
  const { requestId, route } = state;
  state.refusal = loggedRefusal(refusal);
  if (refusal !== error) logger[levelOf(error)]({ requestId, route, code: refusal.code, err: error }, 'request failed');
  return refusal;
}

/**
 * Codes of an invalid credential, which may be a guess. A missing credential is not one of them: to refuse it costs
 * nothing.
 */
export const INVALID_CREDENTIAL: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'DEVELOPER_TOKEN_INVALID',
  'DEVELOPER_TOKEN_EXPIRED',
  'DEVELOPER_TOKEN_REVOKED',
]);

/**
 * `WWW-Authenticate` of an answer with 401 or 403 (RFC 6750 §3), with the scope that the credential lacks, if that is
 * why, or those to begin with, and the address of the resource's metadata (RFC 9728), where tokens are given out. A
 * refusal that another scope would not change names no error: clients would ask for the scope again and again.
 */
function bearerChallenge(
  { code, details: { scope: lacking } }: ServiceError,
  status: number,
  { resourceMetadata, suggestedScopes }: HttpState,
): string {
  const metadata = resourceMetadata?.();
  const suggested = status === 401 && metadata !== undefined ? suggestedScopes?.join(' ') : undefined;
  const scope = lacking ?? suggested;
  const error = INVALID_CREDENTIAL.has(code)
    ? 'invalid_token'
    : lacking === undefined
      ? undefined
      : 'insufficient_scope';
  const parameters = [
    ...(error === undefined ? [] : [`error="${error}"`]),
    ...(scope === undefined ? [] : [`scope="${scope}"`]),
    ...(metadata === undefined ? [] : [`resource_metadata="${metadata}"`]),
  ];
  return parameters.length === 0 ? 'Bearer' : `Bearer ${parameters.join(', ')}`;
}
