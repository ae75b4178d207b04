import type * as http from 'node:http';
import { Client, S3Error } from 'minio';
import { StoreUnavailable } from '../../core/errors.js';
import type { CheckedOptions } from './minio-options.js';
import { s3Transport } from './s3-transport.js';

export interface S3Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly key: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
  /** The status that means it worked. Default 200. */
  readonly expects?: number;
}

/**
 * One bucket through the S3 client: without its retries, without its look-ups of regions, with a bound on every wait.
 * What the server refuses with a code is named by that code; everything else that fails is `StoreUnavailable`.
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

  /** What failed, an error or a code, in the one form that core knows. */
  unavailable(failure: unknown): StoreUnavailable {
    if (failure instanceof StoreUnavailable) return failure;
    const code = typeof failure === 'string' ? failure : failureCode(failure);
    return new StoreUnavailable(`The object store's ${this.where} cannot be used right now (${code}).`, failure);
  }
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
