import type { HttpAnswer } from './http-answer.js';
import type { HttpClient } from './http-client.js';
import { HttpError, readRetryAfter } from './http-error.js';
import { byteSizeOf, type HttpRequest } from './http-request.js';

/**
 * A submission that certainly was not accepted:
 * - `unreachable`: no byte of it was sent;
 * - `capacity`: the server has no room for it now;
 * - `rejected`: the server refused it.
 */
export interface SubmissionRefusal {
  readonly outcome: 'refused';
  readonly because: 'unreachable' | 'capacity' | 'rejected';
  /** Absent if there was no answer. */
  readonly status?: number;
  /** The delay that the server asked for, with `capacity`. Not bounded further than `retryAfterMs` does it. */
  readonly retryAfterMs?: number;
  /** The answer's JSON; undefined where it had none. Written by the other side: check it before use. */
  readonly body?: unknown;
}

/**
 * The kind of body that an answer has: JSON, something that claims to be JSON and is not (or is too deep), or anything
 * else.
 */
export type AnswerBody =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'broken-json' }
  | { readonly kind: 'other' };

/** An answer to a submission. */
export interface SubmissionAnswer {
  readonly status: number;
  /** The headers `retry-after` and `date`. */
  readonly retryAfter?: string;
  readonly date?: string;
  /** Looked at unless the status is one of success. */
  readonly body: AnswerBody;
}

/**
 * The guarantees of one API beyond HTTP. Each function looks at an answer's status and JSON, undefined where it has
 * none.
 */
export interface SubmissionContract {
  /**
   * Whether an answer of 4xx says that the API has seen this submission before, so that the first one may have been
   * accepted; such as a 422 with a code for a reused idempotency key.
   */
  readonly seenBefore?: (status: number, body: unknown) => boolean;
  /**
   * Why an answer of 5xx, 3xx or one of `UNKNOWN_4XX` is a refusal, where the API's documentation says that nothing was
   * accepted then; undefined for an unknown outcome.
   */
  readonly refuses?: (status: number, body: unknown) => 'capacity' | 'rejected' | undefined;
}

/**
 * 4xx that may follow an accepted submission, as a proxy also gives them once it has passed the request on:
 *
 * | Status | From | Why its outcome is unknown |
 * | --- | --- | --- |
 * | 408 | HTTP; Azure ML | the request, or the application behind the proxy, took too long |
 * | 409 | HTTP | it conflicts with an earlier one, which may be the same |
 * | 424 | Azure ML | the application answered with anything but 200: with 5xx, or with 202 |
 * | 425 | HTTP | it came too early, and the proxy may send it again |
 * | 444 | nginx | the connection is closed without an answer, also in place of that of the application |
 * | 460 | AWS load balancer | the client closed the connection while the application worked |
 * | 499 | nginx | the client closed the connection while the application worked |
 *
 * Other statuses of proxies are refusals, as they come from looking at the request, before it is passed on: 463 (AWS: too
 * many forwarded addresses), 464 (AWS: another version of the protocol), 494 (nginx: headers too large), 495 and 496 (nginx:
 * the client's certificate), 497 (nginx: no TLS). 498 is an application's: an invalid token, or no capacity for a tier.
 */
export const UNKNOWN_4XX: readonly number[] = [408, 409, 424, 425, 444, 460, 499];

/**
 * The meaning of a failed request for the submission it carried: a refusal if no byte of it was sent (no address,
 * refused, no TLS, no tunnel through a proxy, no connection in time, or an address that this client must not call).
 * Throws the error itself where the outcome is unknown, and where the call was aborted.
 */
export function outcomeOfFailure(error: HttpError): SubmissionRefusal {
  if (error.requestSent || error.kind === 'aborted') throw error;
  return { outcome: 'refused', because: 'unreachable' };
}

/**
 * The meaning of a whole answer: `answered` for success, whose body the caller reads; a refusal that is certain; or
 * `unknown`.
 *
 * - 2xx: answered. The caller checks that the body has the expected form; if not, the outcome is unknown.
 * - 4xx: a refusal, also where its body is HTML or not JSON at all. A proxy or a firewall in front answers like this (413,
 *   403), as does a wrong path (404): the application has not seen the request, or refused it. 429 is a lack of capacity.
 *   Unknown are the statuses of `UNKNOWN_4XX`, unless the contract says that nothing was accepted, an answer that the
 *   contract knows as seen before, and a body that claims to be JSON and is not: the answer is not whole, and it could say
 *   that the submission was seen before.
 * - 5xx and 3xx: unknown, unless the contract says that nothing was accepted. A gateway answers so as well when the
 *   application has the request and its answer was lost, and a redirect may follow an accepted form.
 */
export function outcomeOfAnswer(
  { status, retryAfter, date, body }: SubmissionAnswer,
  { seenBefore, refuses }: SubmissionContract,
  nowMs: number,
): SubmissionRefusal | 'answered' | 'unknown' {
  if (status >= 200 && status < 300) return 'answered';
  if (body.kind === 'broken-json') return 'unknown';
  const value = body.kind === 'json' ? body.value : undefined;
  const isPlain4xx = status >= 400 && status < 500 && !UNKNOWN_4XX.includes(status);
  const because = isPlain4xx ? refusal4xx(status, value, seenBefore) : refuses?.(status, value);
  if (because === undefined) return 'unknown';
  const waitMs = because === 'capacity' ? readRetryAfter(retryAfter, date, nowMs) : undefined;
  return {
    outcome: 'refused',
    because,
    status,
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
    ...(value === undefined ? {} : { body: value }),
  };
}

function refusal4xx(
  status: number,
  body: unknown,
  seenBefore: SubmissionContract['seenBefore'],
): 'capacity' | 'rejected' | undefined {
  if (seenBefore?.(status, body) === true) return undefined;
  return status === 429 ? 'capacity' : 'rejected';
}

/** A submission's answer of success. Its body is still to be read, or discarded. */
export interface SubmissionAnswered {
  readonly outcome: 'answered';
  readonly answer: HttpAnswer;
}

/** The bytes that are read of an answer without success, in addition to the part of the request that it may repeat. */
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
