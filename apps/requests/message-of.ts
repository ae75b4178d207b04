import { ERRORS, type ErrorCode, type ServiceError } from '../../core/errors.js';

/** Sentences of a front in place of core's, for codes about something that has another name there. */
export type FrontMessages = Readonly<Partial<Record<ErrorCode, string>>>;

/**
 * The message for a client of a front. A refusal's own sentence is more specific than that of its code, and is kept.
 */
export function messageOf({ code, message }: Pick<ServiceError, 'code' | 'message'>, messages: FrontMessages): string {
  return message === ERRORS[code].message ? (messages[code] ?? message) : message;
}
