import { ApiError, DarkroomError } from '../../../clients/typescript/src/index.js';
import { printable } from '../../logging/printable.js';
import { EXIT, Failure } from '../exit.js';

/** What the client library throws as a command tells it: a refusal with the server's own sentence; anything else as it is. */
export function clientFailure(error: unknown): unknown {
  if (error instanceof ApiError) {
    const { code, message, request_id } = error.refusal;
    const sentence = `${printable(message)} (${code}, request ${request_id})`;
    return new Failure(sentence, error.status >= 500 ? EXIT.failure : EXIT.refused, { code, message, request_id });
  }
  return error instanceof DarkroomError ? new Failure(error.message, EXIT.failure, {}, error.cause) : error;
}
