import type { Logger } from 'pino';
import type { ServiceError } from '../../../core/errors.js';
import { loggedRefusal } from '../../logging/logged-fields.js';
import { asServiceError, levelOf } from '../../requests/service-error.js';
import type { HttpState } from './http-context.js';

/**
 * What a client is told of an error, which the line of the request in the log names too. An unexpected error is logged
 * completely and never shown.
 */
export function notedRefusal(error: unknown, state: HttpState, logger: Logger): ServiceError {
  const refusal = asServiceError(error);
  const { requestId, route } = state;
  state.refusal = loggedRefusal(refusal);
  if (refusal !== error) logger[levelOf(error)]({ requestId, route, code: refusal.code, err: error }, 'request failed');
  return refusal;
}
