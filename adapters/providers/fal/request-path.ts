import { ListedHosts } from '../../http/allow-list.js';
import { answerAddress } from '../../http/http-answer.js';
import { HttpError } from '../../http/http-error.js';

/** The queue's answer to a submission. */
export interface SubmittedRequest {
  readonly request_id: string;
  readonly response_url?: unknown;
}

const ID = '[A-Za-z0-9][A-Za-z0-9_-]{0,127}';
const NAME = '[A-Za-z0-9][A-Za-z0-9_.-]*';
const REQUEST_PATH = new RegExp(`^${NAME}(?:/${NAME}){1,2}/requests/${ID}$`);
const LONGEST = 1_000;

const NO_OTHER_HOSTS = new ListedHosts([]);

/** An accepted request, or undefined where an answer is none. */
export function readSubmitted(answer: unknown): SubmittedRequest | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined;
  const { request_id: id, response_url: address } = answer as Record<string, unknown>;
  if (typeof id !== 'string' || !new RegExp(`^${ID}$`).test(id)) return undefined;
  return { request_id: id, response_url: address };
}

/**
 * The path of a request below the base address: its reference. It is the one that the answer gives, if that leads to the
 * same request at the same server, else that of the model's app.
 */
export function requestPath(
  { request_id: id, response_url: address }: SubmittedRequest,
  app: readonly string[],
  base: string,
): string {
  const given = pathBelow(base, address);
  return given !== undefined && isRequestPath(given) && given.endsWith(`/requests/${id}`)
    ? given
    : [...app, 'requests', id].join('/');
}

/** Whether a text has the form of a request's path, so that it can lead nowhere else. */
export function isRequestPath(text: string): boolean {
  return text.length <= LONGEST && REQUEST_PATH.test(text);
}

function pathBelow(base: string, address: unknown): string | undefined {
  try {
    const { url, isOwnOrigin } = answerAddress(address, { base, hosts: NO_OTHER_HOSTS });
    return isOwnOrigin && url.startsWith(`${base}/`)
      ? url.slice(base.length + 1).replace(/\/response$/, '')
      : undefined;
  } catch (error) {
    if (error instanceof HttpError) return undefined;
    throw error;
  }
}
