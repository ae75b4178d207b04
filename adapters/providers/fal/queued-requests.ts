import type { ProviderCall, ProviderCost } from '../../../core/ports/provider.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import type { Connection } from '../shared/connection.js';
import { readFailure, type FailedRequest } from './request-failure.js';
import { memberOf, metricsCost } from '../shared/json-members.js';

const STATUSES = ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED'] as const;

export interface RequestStatus {
  /** `UNKNOWN` is of a request that the queue does not know. */
  readonly status: (typeof STATUSES)[number] | 'UNKNOWN';
  /** The time that a completed request has run, where the queue says it. */
  readonly cost?: ProviderCost;
}

/** What a completed request has made, or why it failed. */
export type RequestResult = { readonly answer: unknown } | { readonly failed: FailedRequest };

/** A model may put pictures into its answer. */
const MAX_RESULT_BYTES = 8 * 1024 * 1024;
const MAX_FAILURE_BYTES = 1024 * 1024;

/** Asks about requests in the queue, each by its path. Throws `HttpError` for what is no answer. */
export class QueuedRequests {
  constructor(private readonly connection: Connection) {}

  async status(path: string, call: ProviderCall): Promise<RequestStatus> {
    const answer = await this.ask('GET', `${path}/status`, call);
    if (answer.isOk) {
      const body = await answer.json();
      const given = memberOf(body, 'status');
      const status = STATUSES.find((known) => known === given);
      if (status !== undefined) return { status, ...metricsCost(body, 'inference_time') };
      throw answer.error('bad-answer', 'The answer to a poll has no known status.');
    }
    const isUnknown = answer.status === 404 && answer.declares === 'json';
    answer.discard();
    if (isUnknown) return { status: 'UNKNOWN' };
    throw answer.error('bad-answer', `The answer to a poll has status ${answer.status}.`);
  }

  async result(path: string, call: ProviderCall): Promise<RequestResult> {
    const answer = await this.ask('GET', path, call);
    const { status } = answer;
    if (status === 200) return { answer: await answer.json() };
    if (answer.declares === 'json') {
      const body = await answer.json(MAX_FAILURE_BYTES);
      const failed = readFailure({ status, body, header: (name) => answer.header(name) });
      if (failed !== undefined) return { failed };
    } else answer.discard();
    throw answer.error('bad-answer', `The answer for a result has status ${status}.`);
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
