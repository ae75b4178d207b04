import { ERRORS, type ErrorCode, type ServiceError } from '../../core/errors.js';

/** Sentences of a front in place of core's, for codes about something that has another name there. */
export type FrontMessages = Readonly<Partial<Record<ErrorCode, string>>>;

/** What a client of a front is told. A sentence of the refusal's own says more than that of its code, and stays. */
export function messageOf({ code, message }: Pick<ServiceError, 'code' | 'message'>, messages: FrontMessages): string {
  return message === ERRORS[code].message ? (messages[code] ?? message) : message;
}
