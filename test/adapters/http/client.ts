import { setMaxListeners } from 'node:events';
import { HttpClient, type HttpClientOptions } from '../../../adapters/http/http-client.js';
import { HttpError } from '../../../adapters/http/http-error.js';
import type { HttpRequest } from '../../../adapters/http/http-request.js';
import type { AbortSignalLike } from '../../../core/cancellation.js';

/** A signal that is never aborted. */
export const UNABORTED: AbortSignalLike = sharedSignal();

/** Many calls at once listen to it. */
function sharedSignal(): AbortSignalLike {
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  return signal;
}

/** A client that may reach the loopback, as an operator would list a server of theirs. */
export function localClient(options: HttpClientOptions = {}): HttpClient {
  return new HttpClient({ allow: ['127.0.0.0/8'], ...options });
}

export function get(client: HttpClient, url: string, request: Partial<HttpRequest> = {}) {
  return client.request({ method: 'GET', url, signal: UNABORTED, ...request });
}

export function post(client: HttpClient, url: string, request: Partial<HttpRequest> = {}) {
  return client.request({ method: 'POST', url, body: '{"prompt":"a lighthouse"}', signal: UNABORTED, ...request });
}

/** The `HttpError` that work ends with; any other end is a failure of the test. */
export async function errorOf(work: Promise<unknown>): Promise<HttpError> {
  const error = await work.then(
    () => new Error('It succeeded.'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof HttpError)) throw error;
  return error;
}
