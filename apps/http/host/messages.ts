import type { FrontMessages } from '../../requests/message-of.js';

/** Sentences that name what is HTTP's own. */
export const HTTP_MESSAGES = {
  DEVELOPER_TOKEN_REQUIRED: 'Send an API key as Authorization: Bearer <credential>.',
  IDEMPOTENCY_KEY_REQUIRED: 'Send an Idempotency-Key header.',
  IDEMPOTENCY_KEY_INVALID: 'Idempotency-Key must be one header of 1 to 255 visible ASCII characters.',
  IDEMPOTENCY_PAYLOAD_MISMATCH: 'This Idempotency-Key was first used with a different request.',
  IDEMPOTENCY_IN_PROGRESS: 'The first request with this Idempotency-Key is still being handled.',
  IDEMPOTENCY_REPLAY_EXPIRED: 'The answer to this Idempotency-Key is no longer kept; a new intent needs a new key.',
  MEDIA_TYPE_UNSUPPORTED: 'Send the body as application/json.',
} as const satisfies FrontMessages;
