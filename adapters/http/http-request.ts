import type { AbortSignalLike } from '../../core/abort-signal.js';
import { ACCEPTED_ENCODINGS } from './decoded-body.js';
import type { HttpLimits } from './limits.js';

export interface HttpRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | { readonly stream: AsyncIterable<Uint8Array>; readonly byteSize: number };
  /**
   * Whether the path of the address may be a secret, as in an address out of an answer that gives access to a file. Errors
   * then show its origin alone. They never show a query.
   */
  readonly hasSecretPath?: boolean;
  readonly signal: AbortSignalLike;
  readonly limits?: Partial<HttpLimits>;
  /**
   * How many redirects are followed; none when absent. Only for GET and HEAD without a body. Each target is checked like
   * the first address: public ones need TLS, and private ones must be listed. What names us goes to the first origin only,
   * and never again once a redirect has left it.
   */
  readonly maxRedirects?: number;
  /**
   * Whether the request gets its own connection. On a kept one, a close by the server looks like the loss of an answer,
   * so POST and PATCH have their own unless this says otherwise.
   */
  readonly onOwnConnection?: boolean;
}

/** Headers that the connection decides. */
const OWN_HEADERS: readonly string[] = [
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'accept-encoding',
  'proxy-authorization',
];

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Throws a `RangeError` for a header that cannot be sent; its value is not repeated. */
export function headersOf({ headers = {}, body }: HttpRequest): Readonly<Record<string, string>> {
  const sent: Record<string, string> = { 'user-agent': 'darkroom', 'accept-encoding': ACCEPTED_ENCODINGS };
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (!NAME.test(name) || OWN_HEADERS.includes(lower))
      throw new RangeError(`The header ${JSON.stringify(name)} cannot be set.`);
    if (!VALUE.test(value))
      throw new RangeError(`The value of the header ${name} has characters that headers cannot have.`);
    sent[lower] = value;
  }
  const byteSize = byteSizeOf(body);
  if (byteSize !== undefined) sent['content-length'] = String(byteSize);
  return sent;
}

/** How many bytes the body of a request has; undefined where it has none. */
export function byteSizeOf(body: HttpRequest['body']): number | undefined {
  if (body === undefined) return undefined;
  if (typeof body === 'string') return Buffer.byteLength(body);
  return 'stream' in body ? body.byteSize : body.byteLength;
}

export function bodyOf({ body }: HttpRequest): Uint8Array | AsyncIterable<Uint8Array> | undefined {
  if (typeof body === 'string') return Buffer.from(body);
  return body !== undefined && 'stream' in body ? body.stream : body;
}
