import type { IncomingMessage } from 'node:http';
import { headerValues } from './request-headers.js';

/** The longest that a request waits, in seconds. */
export const MAX_WAIT_SECONDS = 60;

const PREFERENCE = /^wait[ \t]*=[ \t]*(?:(\d{1,9})|"(\d{1,9})")[ \t]*(?:;.*)?$/i;

/**
 * How many seconds the client prefers to wait for its answer (`Prefer: wait`, RFC 7240), at most `MAX_WAIT_SECONDS`;
 * undefined where it does not say, or says 0 or what is no number: a preference that is not understood is ignored. The
 * first of several counts.
 */
export function preferredWait(req: IncomingMessage): number | undefined {
  if (req.headers['prefer'] === undefined) return undefined;
  const preferences = headerValues(req, 'prefer').flatMap((value) => value.split(','));
  const wait = preferences.map((one) => one.trim()).find((one) => /^wait[ \t]*(?:[=;]|$)/i.test(one));
  const [, plain, quoted] = PREFERENCE.exec(wait ?? '') ?? [];
  const seconds = Number(plain ?? quoted ?? 0);
  return seconds === 0 ? undefined : Math.min(seconds, MAX_WAIT_SECONDS);
}
