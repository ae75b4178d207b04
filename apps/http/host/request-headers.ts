import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../../core/errors.js';
import { safeRequestId } from '../../requests/request-id.js';

const BEARER = /^bearer(?: +|$)/i;

/** Every value sent for a header, in order: what the runtime joins or drops is seen here. `name` is in lower case. */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const candidate = rawHeaders[index] as string;
    if (candidate.length === name.length && candidate.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? '');
  }
  return values;
}

/**
 * The credential of `Authorization: Bearer <credential>`; none for no header and for another scheme. Throws
 * DEVELOPER_TOKEN_INVALID when the header was sent twice: that is ambiguous.
 */
export function readCredential(req: IncomingMessage): string | undefined {
  const value = req.headers.authorization;
  if (value === undefined) return undefined;
  if (headerValues(req, 'authorization').length > 1)
    throw new ServiceError('DEVELOPER_TOKEN_INVALID', 'Authorization must be sent once.');
  const scheme = BEARER.exec(value);
  return scheme ? value.slice(scheme[0].length) : undefined;
}

/** The client's own id of the request, when it can be given back safely. */
export function readRequestId(req: IncomingMessage): string | undefined {
  return safeRequestId(req.headers['x-request-id']);
}

/**
 * HTTP/1.1 requires exactly one Host in every request, even if the server ignores it. Of two, a proxy may have used the
 * other.
 */
export function requireOneHost(req: IncomingMessage): void {
  const { length } = headerValues(req, 'host');
  if (length === 0 && req.httpVersionMinor >= 1)
    throw new ServiceError('BODY_INVALID', 'The request is not valid HTTP/1.1: it has no Host.');
  if (length > 1)
    throw new ServiceError('BODY_INVALID', 'The request is not valid HTTP/1.1: it has more than one Host.');
}

/** A header of which more than one value is no use, as one text. */
export function headerText(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/**
 * Whether the client says with If-None-Match that it has what carries this ETag. Compared weakly, as RFC 9110 wants it.
 */
export function hasCurrent(req: IncomingMessage, etag: unknown): boolean {
  const sent = req.headers['if-none-match'];
  if (sent === undefined || typeof etag !== 'string') return false;
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');
  return sent.trim() === '*' || sent.split(',').some((tag) => opaque(tag) === opaque(etag));
}
