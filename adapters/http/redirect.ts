import type { IncomingHttpHeaders } from 'node:http';
import type { HttpError, HttpErrorKind } from './http-error.js';
import type { ListedHosts } from './listed-hosts.js';
import { readTarget, type Target } from './target.js';

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** Headers that say nothing about who is asking: all that another origin is sent after a redirect. */
const HEADERS_FOR_OTHERS: readonly string[] = ['accept', 'accept-encoding', 'accept-language', 'user-agent'];

export function isRedirect(status: number, { location }: IncomingHttpHeaders): boolean {
  return REDIRECTS.includes(status) && location !== undefined;
}

/**
 * Where an answer redirects to: within its origin, or to a listed host. Throws `HttpError` for a redirect that is not
 * followed.
 */
export function redirectTarget(
  location: string,
  from: Target,
  hosts: ListedHosts,
  error: (kind: HttpErrorKind, what: string) => HttpError,
): Target {
  let to: Target;
  try {
    to = readTarget(location, from);
  } catch (refused) {
    throw error('refused-address', `It redirects. ${(refused as Error).message}`);
  }
  if (from.protocol !== 'https:' || to.protocol !== 'https:')
    throw error('bad-answer', 'It redirects, and redirects are only followed from https to https.');
  if (to.origin !== from.origin && !hosts.has(to))
    throw error('refused-address', 'It redirects to a host that is not listed.');
  return to;
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
