import { Client, S3Error } from 'minio';
import * as http from 'node:http';
import type { IncomingMessage } from 'node:http';
import * as https from 'node:https';
import { StoreUnavailable } from '../../core/errors.js';
import type { CheckedOptions } from './minio-options.js';

export interface S3Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly key: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
  /** The status that means success. Default 200. */
  readonly expects?: number;
}

/**
 * One bucket accessed through the S3 client, without its retries and region look-ups, and with a limit on every wait.
 * Refusals with a code are reported by that code; every other failure is `StoreUnavailable`.
 */
export class S3Bucket {
  readonly name: string;
  readonly region: string;
  /** For messages. */
  readonly where: string;
  readonly timeoutMs: number;
  /** All requests go through here. */
  readonly transport: Pick<typeof http, 'request'>;
  private readonly client: Client;

  constructor({ endpoint, region, bucket, accessKey, secretKey, timeoutMs }: CheckedOptions) {
    const useSSL = endpoint.protocol === 'https:';
    this.name = bucket;
    this.region = region;
    this.where = `bucket ${bucket} at ${endpoint.origin}`;
    this.timeoutMs = timeoutMs;
    this.transport = s3Transport({ endpoint, timeoutMs });
    this.client = new Client({
      endPoint: endpoint.hostname.replace(/^\[|\]$/g, ''),
      ...(endpoint.port === '' ? {} : { port: Number(endpoint.port) }),
      useSSL,
      region,
      accessKey,
      secretKey,
      pathStyle: true,
      retryOptions: { disableRetry: true },
      transport: this.transport,
    });
  }

  /** Does something with the client. Throws `StoreUnavailable`. */
  async call<T>(act: (client: Client) => Promise<T>): Promise<T> {
    return this.callOr({}, act);
  }

  /** The same, answering what `known` has for the code that the server refuses with. */
  async callOr<T, const K extends Readonly<Record<string, unknown>>>(
    known: K,
    act: (client: Client) => Promise<T>,
  ): Promise<T | K[keyof K]> {
    try {
      return await act(this.client);
    } catch (error) {
      const code = refusalCode(error);
      const outcome = Object.entries(known).find(([name]) => name === code);
      if (outcome !== undefined) return outcome[1] as K[keyof K];
      throw this.unavailable(error);
    }
  }

  /** Sends a request for one object; its answer's body must be read, drained or destroyed. */
  async send<const K extends Readonly<Record<string, unknown>>>(
    request: S3Request,
    known: K,
  ): Promise<http.IncomingMessage | K[keyof K]> {
    const { method, key, query = '', headers = {}, body = '', expects = 200 } = request;
    return this.callOr(known, async (client) =>
      client.makeRequestAsync(
        { method, bucketName: this.name, objectName: key, query, headers: { ...headers } },
        body,
        [expects],
      ),
    );
  }

  /** A failure, an error or a code, in the one form that core knows. */
  unavailable(failure: unknown): StoreUnavailable {
    if (failure instanceof StoreUnavailable) return failure;
    const code = typeof failure === 'string' ? failure : failureCode(failure);
    return new StoreUnavailable(`The object store's ${this.where} cannot be used right now (${code}).`, failure);
  }
}

/** Idle connections are closed before a server would, so that no request meets one that is about to close. */
const IDLE_CONNECTION_MS = 4_000;
/** More requests than this wait for a connection, within the timeout. */
const MAX_CONNECTIONS = 128;
const OVERLOADED = [408, 429, 499];

type Answered = (answer: http.IncomingMessage) => void;

/**
 * Requests with a bound on every wait: for a connection, for it to open, for the server to take or to send the next
 * bytes. The S3 client sends everything through here, as it has no limits itself. A server's answer that it is
 * unavailable becomes `StoreUnavailable` here already: the client would drop such an answer without reading or closing
 * it.
 */
function s3Transport({
  endpoint,
  timeoutMs,
}: Pick<CheckedOptions, 'endpoint' | 'timeoutMs'>): Pick<typeof http, 'request'> {
  const isSecure = endpoint.protocol === 'https:';
  const limits = { keepAlive: true, maxSockets: MAX_CONNECTIONS, timeout: IDLE_CONNECTION_MS };
  const agent = isSecure ? new https.Agent(limits) : new http.Agent(limits);
  const silent = () =>
    new StoreUnavailable(`The object store at ${endpoint.origin} did not answer within ${timeoutMs} ms.`);

  const request = (options: https.RequestOptions, answered?: Answered): http.ClientRequest => {
    const sent = (isSecure ? https : http).request({ ...options, agent, timeout: timeoutMs });
    const waiting = setTimeout(() => sent.destroy(silent()), timeoutMs);
    for (const event of ['socket', 'close']) sent.once(event, () => clearTimeout(waiting));
    let body: http.IncomingMessage | undefined;
    sent.on('timeout', () => {
      (body ?? sent).destroy(silent());
    });
    sent.once('response', (answer) => {
      const status = answer.statusCode ?? 0;
      if ((status >= 500 && status !== 501) || OVERLOADED.includes(status)) {
        sent.emit('error', new StoreUnavailable(`The object store at ${endpoint.origin} answers ${status}.`));
        answer.destroy();
        return;
      }
      body = answer;
      answered?.(answer);
    });
    return sent;
  };
  // The client calls it in this one of its forms.
  return { request: request as typeof http.request };
}

/** The code an S3 server refuses with, if that is what failed. */
export function refusalCode(error: unknown): string | undefined {
  return error instanceof S3Error ? error.code : undefined;
}

function failureCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code !== ''
    ? error.code
    : 'unknown';
}

/** The whole body of a small answer. Throws `StoreUnavailable`. */
export async function textOf(s3: S3Bucket, answer: IncomingMessage): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bytesOf(s3, answer)) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

/**
 * The bytes of an answer, once. Each wait for the server is bounded, and no wait for the consumer: one that is slow
 * loses nothing. Leaving it closes the connection. Written as an iterator, not a generator: leaving a generator before
 * its first step would not run its `finally`, and the connection would stay open.
 */
export function bytesOf(s3: S3Bucket, answer: IncomingMessage): AsyncIterableIterator<Uint8Array> {
  const pieces: AsyncIterator<Uint8Array> = answer[Symbol.asyncIterator]();
  answer.setTimeout(0);
  // A connection failure before the first step is reported at that step.
  answer.on('error', () => undefined);
  return {
    next: async () => {
      const waiting = setTimeout(() => {
        answer.destroy(new StoreUnavailable(`The object store's ${s3.where} sent nothing within ${s3.timeoutMs} ms.`));
      }, s3.timeoutMs);
      try {
        return await pieces.next();
      } catch (error) {
        throw s3.unavailable(error);
      } finally {
        clearTimeout(waiting);
      }
    },
    return: async () => {
      answer.destroy();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

export interface PlainRequest {
  readonly url: string;
  readonly method: 'PUT' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Sends a request that is already signed, as a client would, and returns the server's response. Throws
 * `StoreUnavailable`.
 */
export async function sendPlain(
  s3: S3Bucket,
  { url, method, headers, body }: PlainRequest,
): Promise<{ readonly status: number; readonly text: string }> {
  const { hostname, port, pathname, search } = new URL(url);
  const to = {
    hostname: hostname.replace(/^\[|\]$/g, ''),
    ...(port === '' ? {} : { port }),
    path: `${pathname}${search}`,
  };
  const length = { 'Content-Length': String(Buffer.byteLength(body)) };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = s3.transport.request({ ...to, method, headers: { ...headers, ...length } }, resolve);
    sent.on('error', (error) => {
      reject(s3.unavailable(error));
    });
    sent.end(body);
  });
  return { status: answer.statusCode ?? 0, text: await textOf(s3, answer) };
}
