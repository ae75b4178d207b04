import { ServiceError } from '../../core/errors.js';
import { readIdempotencyKey } from '../../core/idempotency/key.js';

/** Core's own sentences speak of a header, which it is over HTTP. */
const SENTENCES: Readonly<Partial<Record<ServiceError['code'], string>>> = {
  IDEMPOTENCY_KEY_REQUIRED: 'idempotency_key is required.',
  IDEMPOTENCY_KEY_INVALID: 'idempotency_key must be 1 to 255 visible ASCII characters.',
};

/** Throws IDEMPOTENCY_KEY_REQUIRED and IDEMPOTENCY_KEY_INVALID. */
export function keyOf({ idempotencyKey }: { readonly idempotencyKey?: string | undefined }): string {
  try {
    return readIdempotencyKey(idempotencyKey === undefined ? [] : [idempotencyKey]);
  } catch (error) {
    throw error instanceof ServiceError ? new ServiceError(error.code, SENTENCES[error.code], error.details) : error;
  }
}
