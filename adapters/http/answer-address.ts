import { HttpError } from './http-error.js';
import type { ListedHosts } from './listed-hosts.js';
import { readTarget, type Target } from './target.js';

export interface AddressRules {
  /** The configured address of the instance; relative addresses begin there. */
  readonly base: string | URL;
  /** Other hosts that answers may point to. */
  readonly hosts: ListedHosts;
}

export interface AnswerAddress {
  readonly url: string;
  /** Whether it has the configured origin. Credentials are only for that one; the path of any other may be a secret. */
  readonly isOwnOrigin: boolean;
}

const MAX_LENGTH = 8 * 1024;

/**
 * An address out of an answer, to poll, to cancel or for a result: of the configured origin, or https to a listed host.
 * The client then refuses what is not public at the moment of connecting, unless the operator listed it. Throws
 * `HttpError` with `bad-answer` for any other address, which is not repeated in the message; its `requestSent` is true, as
 * the answer belongs to a request.
 */
export function answerAddress(address: unknown, { base, hosts }: AddressRules): AnswerAddress {
  const own = readTarget(base);
  const target = targetOf(address, own);
  const isOwnOrigin = target.origin === own.origin;
  if (!isOwnOrigin && !hosts.has(target)) throw badAddress('is of a host that is not listed');
  return { url: target.origin + target.path, isOwnOrigin };
}

function targetOf(address: unknown, own: Target): Target {
  if (typeof address !== 'string' || address === '') throw badAddress('is missing');
  if (address.length > MAX_LENGTH) throw badAddress('is too long');
  // Also the mark of a text that was cut.
  if (hasControlCharacter(address)) throw badAddress('has characters that addresses cannot have');
  try {
    return readTarget(address, own);
  } catch {
    throw badAddress('is none that may be used');
  }
}

function hasControlCharacter(text: string): boolean {
  return [...text].some((char) => char < ' ');
}

function badAddress(what: string): HttpError {
  return new HttpError('bad-answer', `An address in the answer ${what}.`, { requestSent: true });
}
