import { errorEnvelope } from '../host/envelope.js';
import type { ErrorRenderer } from '../host/http-context.js';
import { JSON_TYPE } from '../host/send.js';

/**
 * Renders refusals for scripts of our pages: a session is no bearer token, so that a 401 asks for none. They are told
 * which field is at fault, so that they can say it there.
 */
export const withoutChallenge: ErrorRenderer = ({ requestId, code, message, pointer }) => ({
  mediaType: JSON_TYPE,
  text: errorEnvelope(requestId, code, message, { pointer }),
});
