import { EXIT, Failure } from '../exit.js';
import { printable } from '../../logging/printable.js';
import { isHopeless, MAX_TRIES, networkReason, waitBeforeRetry } from './retry.js';

const BASE_PATH = '/api/v1/developer';
const REQUEST_TIMEOUT_MS = 60_000;
const RETRIED_STATUSES = new Set([429, 503]);

export interface CallOptions {
  readonly idempotencyKey?: string;
  /** Ends the call, and the waiting between tries, early. */
  readonly signal?: AbortSignal;
  /** How often the request is sent at most, when not as often as usual. */
  readonly maxTries?: number;
  /** Called when the request is sent again. */
  readonly onRetry?: () => void;
}

export interface Answer<T> {
  readonly data: T;
  /** Whether this is the first answer again, to a repeated Idempotency-Key. */
  readonly replayed: boolean;
  /** How often the request was sent. */
  readonly tries: number;
}

interface Envelope {
  readonly success: boolean;
  readonly code: string;
  readonly message: string;
  readonly request_id: string;
  readonly data?: unknown;
}

/** A refusal of the server: its own sentence, with the code and the id of the request. */
export class Refused extends Failure {
  constructor(
    readonly status: number,
    readonly envelope: Envelope,
  ) {
    const { code, message, request_id } = envelope;
    super(`${printable(message)} (${code}, request ${request_id})`, status >= 500 ? EXIT.failure : EXIT.refused, {
      code,
      message,
      request_id,
    });
    this.name = 'Refused';
  }
}

/**
 * Calls the service's REST interface. What may succeed later (429, 503, a request still in progress, no connection) is
 * sent again a bounded number of times, with the same Idempotency-Key, so that nothing happens twice.
 */
export class RestClient {
  constructor(
    readonly url: string,
    private readonly credential?: string,
  ) {}

  get<T>(path: string, options: CallOptions = {}): Promise<Answer<T>> {
    return this.call('GET', path, undefined, options);
  }

  post<T>(path: string, body: unknown, options: CallOptions = {}): Promise<Answer<T>> {
    return this.call('POST', path, body, options);
  }

  private async call<T>(method: string, path: string, body: unknown, options: CallOptions): Promise<Answer<T>> {
    for (let tries = 1; ; tries += 1) {
      const isLast = tries >= (options.maxTries ?? MAX_TRIES);
      let response: Response;
      let envelope: Envelope | undefined;
      try {
        response = await this.send(method, path, body, options);
        envelope = readEnvelope(await response.text());
      } catch (error) {
        options.signal?.throwIfAborted();
        if (isLast || isHopeless(error)) throw new Failure(`${this.url} cannot be reached: ${networkReason(error)}.`);
        options.onRetry?.();
        await waitBeforeRetry(tries, null, options.signal);
        continue;
      }
      if (response.ok && envelope?.success) {
        return { data: envelope.data as T, replayed: response.headers.get('idempotency-replayed') === 'true', tries };
      }
      const mayRetry = RETRIED_STATUSES.has(response.status) || envelope?.code === 'IDEMPOTENCY_IN_PROGRESS';
      if (!mayRetry || isLast) throw refusal(this.url, response, envelope);
      options.onRetry?.();
      await waitBeforeRetry(tries, response.headers.get('retry-after'), options.signal);
    }
  }

  private send(
    method: string,
    path: string,
    body: unknown,
    { idempotencyKey, signal }: CallOptions,
  ): Promise<Response> {
    const timeout = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    return fetch(`${this.url}${BASE_PATH}${path}`, {
      method,
      headers: {
        accept: 'application/json',
        ...(this.credential === undefined ? {} : { authorization: `Bearer ${this.credential}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // The credential goes where it was meant to go, and nowhere a redirect points.
      redirect: 'manual',
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
  }
}

function readEnvelope(text: string): Envelope | undefined {
  try {
    const value = JSON.parse(text) as Partial<Envelope> | null;
    return typeof value?.success === 'boolean' && typeof value.code === 'string' ? (value as Envelope) : undefined;
  } catch {
    return undefined;
  }
}

function refusal(url: string, response: Response, envelope: Envelope | undefined): Failure {
  if (envelope && !envelope.success) return new Refused(response.status, envelope);
  return new Failure(
    `${url} answered with status ${response.status} and not as a Darkroom service does; check the address.`,
  );
}
