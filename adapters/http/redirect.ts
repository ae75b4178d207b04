import type { IncomingHttpHeaders } from 'node:http';
import type { HttpError, HttpErrorKind } from './http-error.js';
import { readTarget, type Target } from './target.js';

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** Headers that say nothing about who is asking: all that another origin is sent after a redirect. */
const HEADERS_FOR_OTHERS: readonly string[] = ['accept', 'accept-encoding', 'accept-language', 'user-agent'];

export function isRedirect(status: number, { location }: IncomingHttpHeaders): boolean {
  return REDIRECTS.includes(status) && location !== undefined;
}

/**
 * Where an answer redirects to. Whether that address may be called is checked when it is connected to, as for any other.
 * Throws `HttpError` for a location that is not an address.
 */
export function redirectTarget(
  location: string,
  from: Target,
  error: (kind: HttpErrorKind, what: string) => HttpError,
): Target {
  try {
    return readTarget(location, from);
  } catch (refused) {
    throw error('refused-address', `It redirects. ${(refused as Error).message}`);
  }
}

/** The request to the target of a redirect: another origin gets no credentials. */
export function headersAfter(
  headers: Readonly<Record<string, string>>,
  from: Target,
  to: Target,
): Readonly<Record<string, string>> {
  if (from.origin === to.origin) return headers;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => HEADERS_FOR_OTHERS.includes(name)));
}
