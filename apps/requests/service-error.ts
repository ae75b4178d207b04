import { type ErrorCode, ERRORS, ServiceError, StoreUnavailable } from '../../core/errors.js';
import type { UsageBy } from '../../core/usage/read-usage.js';
import type { UsageSums } from '../../core/usage/usage.js';

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

/** Sentences of a front in place of core's, for codes about something that has another name there. */
export type FrontMessages = Readonly<Partial<Record<ErrorCode, string>>>;

/**
 * The message for a client of a front. A refusal's own sentence is more specific than that of its code, and is kept.
 */
export function messageOf({ code, message }: Pick<ServiceError, 'code' | 'message'>, messages: FrontMessages): string {
  return message === ERRORS[code].message ? (messages[code] ?? message) : message;
}

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** The caller's own id of a request, when it can be given back and logged safely. */
export function safeRequestId(value: unknown): string | undefined {
  return typeof value === 'string' && REQUEST_ID.test(value) ? value : undefined;
}

/** What the field with a row's group is called, by what usage is added up by. */
export const USAGE_NAMES = {
  day: 'day',
  model: 'model_key',
  key: 'credential_id',
  client_trace_id: 'client_trace_id',
} as const satisfies Record<UsageBy, string>;

/** Sums by the names of their fields, in the order of tables. */
export function namedSums({ generations, failed, reservedCredits, chargedCredits, releasedCredits }: UsageSums) {
  return {
    generations,
    failed,
    reserved_credits: reservedCredits,
    charged_credits: chargedCredits,
    released_credits: releasedCredits,
  };
}
