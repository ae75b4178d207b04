import { ServiceError, StoreUnavailable } from '../../core/errors.js';

/** How long a client should wait when a store is away and nobody knows for how long. */
export const UNAVAILABLE_RETRY_MS = 2_000;

/**
 * What a front tells of an error. What was not expected is told to nobody: whoever gets another error back than given
 * logs that.
 */
export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof StoreUnavailable)
    return new ServiceError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: UNAVAILABLE_RETRY_MS });
  return new ServiceError('INTERNAL_ERROR');
}

/** How loudly a front tells of an error that no caller was meant to see: an outage has lines of its own. */
export function levelOf(error: unknown): 'debug' | 'error' {
  return error instanceof StoreUnavailable ? 'debug' : 'error';
}
