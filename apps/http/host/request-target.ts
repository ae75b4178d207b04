import { ServiceError } from '../../../core/errors.js';

/** Where a request is sent to, still percent-encoded. */
export interface RequestTarget {
  readonly path: string;
  /** What follows the question mark; empty without one. */
  readonly query: string;
}

const ORIGIN = /^https?:\/\/[^/?#]*/i;
const SOME_ORIGIN = 'http://host';

/**
 * Reads the target of a request line: a path, or a whole address, whose host makes no difference. Throws BODY_INVALID
 * for anything else. A signed address carries its signature here, so the message does not repeat it.
 */
export function readTarget(target: string): RequestTarget {
  const isPath = target.startsWith('/');
  // Only what begins with two slashes could name a host, and only a host can make a path unreadable.
  if ((!isPath || target.startsWith('//')) && !isAddress(target))
    throw new ServiceError('BODY_INVALID', 'The request is not valid HTTP/1.1: its target is no path and no URL.');
  const whole = isPath ? target : target.replace(ORIGIN, '');
  const fragment = whole.indexOf('#');
  const sent = fragment === -1 ? whole : whole.slice(0, fragment);
  const mark = sent.indexOf('?');
  const [path, query] = mark === -1 ? [sent, ''] : [sent.slice(0, mark), sent.slice(mark + 1)];
  return { path: path === '' ? '/' : path, query };
}

function isAddress(target: string): boolean {
  return (target.startsWith('/') || ORIGIN.test(target)) && URL.canParse(target, SOME_ORIGIN);
}
