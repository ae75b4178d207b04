import { type ErrorCode, ERRORS, ServiceError, StoreUnavailable } from '../core/errors.js';

/** How long a client should wait when a store is unavailable for an unknown time. */
export const UNAVAILABLE_RETRY_MS = 2_000;

/**
 * The error that a front reports. An unexpected error is never shown: a caller that gets a different error back logs
 * the original.
 */
export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof StoreUnavailable)
    return new ServiceError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: UNAVAILABLE_RETRY_MS });
  return new ServiceError('INTERNAL_ERROR');
}

/** The log level of an error that is not shown to a caller: an outage has its own lines. */
export function levelOf(error: unknown): 'debug' | 'error' {
  return error instanceof StoreUnavailable ? 'debug' : 'error';
}

/** Messages of a front that replace core's, for codes about something that has another name there. */
export type FrontMessages = Readonly<Partial<Record<ErrorCode, string>>>;

/**
 * The message for a client of a front. An error's own message is more specific than that of its code, and is kept.
 */
export function messageOf({ code, message }: Pick<ServiceError, 'code' | 'message'>, messages: FrontMessages): string {
  return message === ERRORS[code].message ? (messages[code] ?? message) : message;
}
