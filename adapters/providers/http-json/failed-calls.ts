import type { FailedCallHints } from '../../../core/ports/provider.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import { HttpError } from '../../http/http-error.js';
import { type AnswerError, errorIn, isAboutContent, listedAs, meaningOf } from './error-meaning.js';
import type { HttpJsonSettings } from './http-json-settings.js';

/** Statuses of 4xx that are about the call, and not about the task. */
export const ABOUT_THE_CALL: readonly number[] = [401, 403, 408, 425, 429];
/** The longest body that is read of an answer that is not a success. */
const MAX_ERROR_BYTES = 256 * 1024;

/** The error of a call that says nothing of a task, with what core should know of it. */
export function callFailed(answer: HttpAnswer, what: string, more: FailedCallHints = {}): HttpError {
  return answer.error('bad-answer', what, more);
}

/** The error in an answer that is not a success; without a code where none can be read. */
export async function errorOf(answer: HttpAnswer, { errors }: HttpJsonSettings): Promise<AnswerError> {
  return errorIn(await jsonIn(answer), errors, answer.status);
}

/** Whether an answer is JSON with an error where the settings say that the API has it; any JSON where they do not say it. */
export async function isOfApi(answer: HttpAnswer, { errors }: HttpJsonSettings): Promise<boolean> {
  const json = await jsonIn(answer);
  if (json === undefined) return false;
  const { code, text } = errorIn(json, errors);
  return errors.code.length + errors.message.length === 0 || code !== undefined || text !== undefined;
}

/** The JSON of an answer; undefined where it has none that is whole. Throws where the call was aborted. */
export async function jsonIn(answer: HttpAnswer, maxBytes = MAX_ERROR_BYTES): Promise<unknown> {
  try {
    return await answer.json(maxBytes);
  } catch (error) {
    if (error instanceof HttpError && error.kind !== 'aborted') return undefined;
    throw error;
  }
}

/**
 * Why a task that has ended has no result. Only an error that has a code is believed, and one of 5xx only with a listed
 * code: a result that is there must not be given up for a fault on the way. Throws `HttpError`.
 */
export async function resultError(answer: HttpAnswer, { errors }: HttpJsonSettings): Promise<AnswerError> {
  const { status } = answer;
  const error = errorIn(await jsonIn(answer), errors, status);
  const { code } = error;
  if (status >= 400 && !ABOUT_THE_CALL.includes(status)) {
    const meaning = meaningOf(errors, error);
    if (isAboutContent(meaning)) return error;
    const isListed = code !== undefined && listedAs(code, errors.codes) !== undefined;
    // A lack of capacity or of rights is about the call as well.
    const isAboutTheCall = meaning?.because !== undefined;
    if (code !== undefined && !isAboutTheCall && (status < 500 || isListed)) return error;
  }
  throw callFailed(answer, `The answer for a result has status ${status}.`);
}
