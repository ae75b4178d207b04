import { ApiError, ConnectionError, type Refusal } from './errors.js';
import { anySignal } from './pause.js';
import { isHopeless, MAX_TRIES, networkReason, RETRIED_STATUSES, secondsOf, waitBeforeRetry } from './retry.js';

export const BASE_PATH = '/api/v1/developer';
const REQUEST_TIMEOUT_MS = 60_000;

export interface CallOptions {
  readonly idempotencyKey?: string;
  /** Ends the call, and the wait between tries, early. */
  readonly signal?: AbortSignal | undefined;
  /** The maximum number of tries; 6 if absent. */
  readonly maxTries?: number;
  /** Called when the request is sent again. */
  readonly onRetry?: (() => void) | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Prevents `signal` from ending the call while it is unknown whether the request was accepted: the call waits for
   * the response.
   */
  readonly settleBeforeAbort?: boolean;
}

/** Options of one call. */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface Answer<T> {
  readonly data: T;
  readonly headers: Headers;
  /** Whether an earlier request with this Idempotency-Key was accepted. */
  readonly replayed: boolean;
  /** How often the request was sent. */
  readonly tries: number;
}

interface Envelope extends Refusal {
  readonly success: boolean;
  readonly data?: unknown;
}

interface Request {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
}

/**
 * Calls the REST interface. Repeatable requests are retried a bounded number of times: reads, and writes that have an
 * Idempotency-Key or no effect beyond their first.
 */
export class Transport {
  constructor(
    /** The address of the service, without a slash at the end. */
    readonly baseUrl: string,
    private readonly credential?: string,
    /** The path of the endpoints below `baseUrl`. */
    private readonly basePath: string = BASE_PATH,
  ) {}

  get<T>(path: string, options: CallOptions = {}): Promise<Answer<T>> {
    return this.call({ method: 'GET', path }, options);
  }

  post<T>(path: string, body: unknown, options: CallOptions = {}): Promise<Answer<T>> {
    return this.call({ method: 'POST', path, body }, options);
  }

  async call<T>(request: Request, options: CallOptions = {}): Promise<Answer<T>> {
    const { signal, settleBeforeAbort = false, maxTries = MAX_TRIES, idempotencyKey } = options;
    let mayBeTaken = false;
    // While it is unknown whether the request was taken, only its answer can tell.
    const leaveOn = () => (settleBeforeAbort && mayBeTaken ? undefined : signal);
    for (let tries = 1; ; tries += 1) {
      leaveOn()?.throwIfAborted();
      const isLast = tries >= maxTries;
      let response: Response;
      let envelope: Envelope | undefined;
      try {
        response = await this.send(request, options, settleBeforeAbort ? undefined : signal);
        envelope = readEnvelope(await response.text());
      } catch (error) {
        if (!settleBeforeAbort) signal?.throwIfAborted();
        if (isLast || isHopeless(error)) {
          const message = `${this.baseUrl} cannot be reached: ${networkReason(error)}.`;
          throw new ConnectionError(message, idempotencyKey, { cause: error });
        }
        mayBeTaken = true;
        options.onRetry?.();
        await waitBeforeRetry(tries, undefined, leaveOn());
        continue;
      }
      if (response.ok && envelope?.success) {
        const replayed = response.headers.get('idempotency-replayed') === 'true';
        return { data: envelope.data as T, headers: response.headers, replayed, tries };
      }
      const mayRetry = RETRIED_STATUSES.has(response.status) || envelope?.code === 'IDEMPOTENCY_IN_PROGRESS';
      if (!mayRetry || isLast) throw this.refusal(response, envelope, idempotencyKey);
      if (response.status !== 429) mayBeTaken = true;
      options.onRetry?.();
      await waitBeforeRetry(tries, secondsOf(response.headers.get('retry-after')), leaveOn());
    }
  }

  private send(
    { method, path, body }: Request,
    { idempotencyKey, headers }: CallOptions,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    return fetch(`${this.baseUrl}${this.basePath}${path}`, {
      method,
      headers: {
        ...headers,
        accept: 'application/json',
        ...(this.credential === undefined ? {} : { authorization: `Bearer ${this.credential}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // The credential goes where it was meant to go, and nowhere a redirect points.
      redirect: 'manual',
      signal: anySignal(signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)),
    });
  }

  /** Opens a stream, in one try: the body of its response is not read yet. `signal` ends the body too. */
  open(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
    return fetch(`${this.baseUrl}${this.basePath}${path}`, {
      headers: { ...headers, ...(this.credential === undefined ? {} : { authorization: `Bearer ${this.credential}` }) },
      redirect: 'manual',
      signal,
    });
  }

  /**
   * The refusal in such a response to a stream: an `ApiError`, or a `ConnectionError` if it did not come from the
   * service.
   */
  async refusalOf(response: Response): Promise<Error> {
    return this.refusal(response, readEnvelope(await response.text()));
  }

  private refusal({ status, headers }: Response, envelope: Envelope | undefined, idempotencyKey?: string): Error {
    if (envelope && !envelope.success) {
      const retryAfter = secondsOf(headers.get('retry-after'));
      const available = headers.get('darkroom-credits-available');
      return new ApiError(
        status,
        envelope,
        idempotencyKey,
        retryAfter,
        available === null ? undefined : Number(available),
      );
    }
    const message = `${this.baseUrl} answered with status ${status} and not as a Darkroom service does; check the address.`;
    return new ConnectionError(message, idempotencyKey);
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
