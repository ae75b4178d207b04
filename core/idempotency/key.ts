import { ServiceError } from '../errors.js';

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

/** The key of a request that must carry one. `values` holds every value that was sent for it, in order. */
export function readIdempotencyKey(values: readonly string[]): string {
  const [value, ...others] = values;
  if (value === undefined) throw new ServiceError('IDEMPOTENCY_KEY_REQUIRED');
  if (others.length > 0 || !VISIBLE_ASCII.test(value)) throw new ServiceError('IDEMPOTENCY_KEY_INVALID');
  return value;
}
