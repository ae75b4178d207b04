import type { ProviderCall, ProviderCost } from '../../../core/ports/provider.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import type { Connection } from '../shared/connection.js';
import { isObject, memberOf, metricsCost } from '../shared/json-members.js';
import { dataUrlBytes } from '../shared/result-files.js';
import { shownStatus, statusMeaning } from '../shared/status-words.js';
import { type FailedRequest, readFailure } from './request-failure.js';

export interface RequestStatus {
  /** `missing` where the queue states that it has no such request. Why one has failed is in its result. */
  readonly status: 'open' | 'ended' | 'missing';
  /** A word that is not known; the request counts as open. */
  readonly unknownStatus?: string;
  /** The time that a completed request has run, where the queue says it. */
  readonly cost?: ProviderCost;
}

/** The results of a completed request, or its failure. `header` is of either answer. */
export type RequestResult = ({ readonly answer: unknown } | { readonly failed: FailedRequest }) & {
  readonly header: (name: string) => string | undefined;
};

const MEBIBYTE = 1024 * 1024;
/** A model may put pictures into its answer. A string longer than a word of an API is read, and not kept. */
const MAX_RESULT_BYTES = 1_536 * MEBIBYTE;
/** An error repeats its input: eight references of 20 MiB in base64, and what is around them. */
const MAX_FAILURE_BYTES = Math.ceil((8 * 20 * 4) / 3 + 1) * MEBIBYTE;
const MAX_STATUS_BYTES = 8 * MEBIBYTE;

/** Asks about requests in the queue, each by its path. Throws `HttpError` for an invalid answer. */
export class QueuedRequests {
  constructor(private readonly connection: Connection) {}

  async status(path: string, call: ProviderCall): Promise<RequestStatus> {
    const answer = await this.ask('GET', `${path}/status`, call);
    const { status: code } = answer;
    if (!answer.isOk && code !== 404 && code !== 410) {
      answer.discard();
      throw answer.error('bad-answer', `The answer to a poll has status ${code}.`);
    }
    const body = await answer.requiredShortJson(MAX_STATUS_BYTES);
    if (answer.isOk) {
      const word = memberOf(body, 'status');
      if (typeof word === 'string' && word !== '') return statusOf(word, body);
      throw answer.error('bad-answer', 'The answer to a poll has no status.');
    }
    // In the form of this API; a gateway in front of it writes other members.
    const detail = memberOf(body, 'detail');
    if (isObject(body) && (typeof detail === 'string' || body['status'] === 'NOT_FOUND')) return { status: 'missing' };
    throw answer.error('bad-answer', `The answer to a poll has status ${code}, and is not the queue's.`);
  }

  async result(path: string, call: ProviderCall): Promise<RequestResult> {
    const answer = await this.ask('GET', path, call);
    const { status } = answer;
    const header = (name: string) => answer.header(name);
    if (status === 200) return { answer: await answer.requiredShortJson(MAX_RESULT_BYTES), header };
    const json = await answer.shortJson(MAX_FAILURE_BYTES);
    const failed = 'value' in json ? readFailure({ status, body: json.value, header }) : undefined;
    if (failed !== undefined) return { failed, header };
    throw answer.error('bad-answer', `The answer for a result has status ${status}.`);
  }

  /** The bytes of a result that is in the answer itself. */
  async encodedResult(
    path: string,
    place: { readonly pointer: string; readonly at: string },
    call: ProviderCall,
  ): Promise<AsyncIterable<Uint8Array>> {
    const answer = await this.ask('GET', path, call);
    if (answer.status === 200) return dataUrlBytes(answer, place);
    answer.discard();
    throw answer.error('bad-answer', `The answer for a result has status ${answer.status}.`);
  }

  async cancel(path: string, call: ProviderCall): Promise<void> {
    const answer = await this.ask('PUT', `${path}/cancel`, call);
    answer.discard();
    // One that has ended, or is not known, is left as it is.
    if (!answer.isOk && ![400, 404, 409, 410].includes(answer.status))
      throw answer.error('bad-answer', `The answer to a cancel has status ${answer.status}.`);
  }

  private ask(method: 'GET' | 'PUT', path: string, { signal }: ProviderCall): Promise<HttpAnswer> {
    return this.connection.client.request({
      method,
      url: this.connection.urlOf(...path.split('/')),
      headers: { ...this.connection.credentials, accept: 'application/json' },
      signal,
      limits: { maxBodyBytes: MAX_RESULT_BYTES },
    });
  }
}

function statusOf(word: string, body: unknown): RequestStatus {
  switch (statusMeaning(word)) {
    case 'running':
      return { status: 'open' };
    case undefined:
      return { status: 'open', unknownStatus: shownStatus(word) };
    case 'succeeded':
    case 'failed':
    case 'cancelled':
      return { status: 'ended', ...metricsCost(body, 'inference_time') };
  }
}
