import { readIdempotencyKey } from '../../core/idempotency/key.js';

/** Throws IDEMPOTENCY_KEY_REQUIRED and IDEMPOTENCY_KEY_INVALID. */
export function keyOf({ idempotencyKey }: { readonly idempotencyKey?: string | undefined }): string {
  return readIdempotencyKey(idempotencyKey === undefined ? [] : [idempotencyKey]);
}
