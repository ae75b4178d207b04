import type { HttpAnswer } from './http-answer.js';
import type { HttpClient } from './http-client.js';
import { HttpError } from './http-error.js';
import { byteSizeOf, type HttpRequest } from './http-request.js';
import {
  outcomeOfAnswer,
  outcomeOfFailure,
  type AnswerBody,
  type SubmissionContract,
  type SubmissionRefusal,
} from './submission-outcome.js';

/** A submission's answer of success. Its body is still to be read, or discarded. */
export interface SubmissionAnswered {
  readonly outcome: 'answered';
  readonly answer: HttpAnswer;
}

/** What is read of an answer that is no success, beside what it may repeat of the request. */
const MAX_REFUSAL_BYTES = 1024 * 1024;

/**
 * Sends a submission once, on a connection of its own, and says what came of it: an answer of success, or a refusal that is
 * certain, as `outcomeOfAnswer` says. Throws `HttpError` where the outcome is unknown, and where the call was aborted.
 * Reading the answer also throws `HttpError`, and then the outcome is unknown as well: let it pass.
 */
export async function submit(
  client: HttpClient,
  request: HttpRequest,
  contract: SubmissionContract = {},
): Promise<SubmissionAnswered | SubmissionRefusal> {
  let answer: HttpAnswer;
  try {
    answer = await client.request({ onOwnConnection: true, ...request });
  } catch (error) {
    if (error instanceof HttpError) return outcomeOfFailure(error);
    throw error;
  }
  const { status } = answer;
  const [retryAfter, date] = [answer.header('retry-after'), answer.header('date')];
  const came = {
    status,
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(date === undefined ? {} : { date }),
    body: answer.isOk
      ? ({ kind: 'other' } as const)
      : await refusalBody(answer, MAX_REFUSAL_BYTES + (byteSizeOf(request.body) ?? 0)),
  };
  const outcome = outcomeOfAnswer(came, contract, Date.now());
  if (outcome === 'answered') return { outcome, answer };
  if (outcome === 'unknown')
    throw answer.error(
      'unknown-outcome',
      `The answer with status ${status} leaves open whether the request was carried out.`,
    );
  return outcome;
}

/** An error may repeat its input, with the pictures in it. */
async function refusalBody(answer: HttpAnswer, maxBytes: number): Promise<AnswerBody> {
  const json = await answer.shortJson(maxBytes);
  if ('value' in json) return { kind: 'json', value: json.value };
  return { kind: answer.declares === 'json' || json.fault === 'too-deep' ? 'broken-json' : 'other' };
}
