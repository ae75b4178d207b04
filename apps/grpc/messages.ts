import type { FrontMessages } from '../requests/message-of.js';

/** Sentences that name the fields of messages. */
export const GRPC_MESSAGES: FrontMessages = {
  IDEMPOTENCY_KEY_REQUIRED: 'idempotency_key is required.',
  IDEMPOTENCY_KEY_INVALID: 'idempotency_key must be 1 to 255 visible ASCII characters.',
  IDEMPOTENCY_PAYLOAD_MISMATCH: 'This idempotency_key was first used with a different request.',
  IDEMPOTENCY_IN_PROGRESS: 'The first request with this idempotency_key is still being handled.',
  IDEMPOTENCY_REPLAY_EXPIRED: 'The answer to this idempotency_key is no longer kept; a new intent needs a new key.',
};
