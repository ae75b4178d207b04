import type { HttpClient } from './http-client.js';
import type { HttpLimits } from './limits.js';

/** The requests of libraries that take a `fetch` from their caller. */
export interface FetchOptions {
  readonly method?: string;
  readonly headers?: Headers | Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | null;
}

const METHODS = ['GET', 'POST'] as const;

/**
 * A function like `fetch` that sends through a guarded client, for libraries that take one. It sends GET and POST with
 * texts, follows no redirect, and reads the whole answer within the limits. Throws `HttpError`.
 */
export function fetchBy(
  client: HttpClient,
  limits: Partial<HttpLimits>,
): (url: string | URL, options?: FetchOptions) => Promise<Response> {
  return async (url, { method = 'GET', headers = {}, body, signal } = {}) => {
    const known = METHODS.find((one) => one === method.toUpperCase());
    if (known === undefined) throw new RangeError(`Requests with the method ${method} are not sent.`);
    const text = textOf(body);
    const answer = await client.request({
      method: known,
      url,
      headers: sentHeaders(headers),
      ...(text === undefined ? {} : { body: text }),
      signal: signal ?? new AbortController().signal,
      limits,
    });
    const bytes = await answer.bytes();
    const type = answer.header('content-type');
    const control = answer.header('cache-control');
    return new Response(isWithoutBody(answer.status) ? null : new Uint8Array(bytes), {
      status: answer.status,
      headers: {
        ...(type === undefined ? {} : { 'content-type': type }),
        ...(control === undefined ? {} : { 'cache-control': control }),
      },
    });
  };
}

function textOf(body: unknown): string | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string' || body instanceof URLSearchParams) return body.toString();
  throw new RangeError('Only texts are sent.');
}

/** Those that are the client's own are left out. */
function sentHeaders(headers: Headers | Readonly<Record<string, string>>): Record<string, string> {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  return Object.fromEntries(
    entries.filter(
      ([name, value]) => value !== '' && !/^(host|content-length|connection|accept-encoding)$/i.test(name),
    ),
  );
}

function isWithoutBody(status: number): boolean {
  return status === 204 || status === 304;
}
