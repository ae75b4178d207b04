import { AddressRefused } from './address-rules.js';
import { ProxyFailure } from './proxy/tunnel.js';
import type { HttpErrorKind, TimedOutPhase } from './http-error.js';

interface Failure {
  readonly kind: HttpErrorKind;
  readonly what: string;
  readonly code?: string;
  readonly phase?: TimedOutPhase;
}

/**
 * What an error of a connection means for the request on it. The error's own message is not repeated: it may hold what
 * was sent.
 */
export function failureOf(
  error: Error,
  { isSent, isAnswered }: { readonly isSent: boolean; readonly isAnswered: boolean },
): Failure {
  if (error instanceof AddressRefused) return { kind: 'refused-address', what: `${error.message}.` };
  const code = codeOf(error);
  const named = code === undefined ? {} : { code };
  if (!isSent) {
    if (error instanceof ProxyFailure)
      return { kind: 'not-connected', what: `The proxy made no connection${inBrackets(code)}.`, ...named };
    if (code === 'UND_ERR_CONNECT_TIMEOUT')
      return { kind: 'timed-out', what: 'The connection took too long.', phase: 'connect', ...named };
    return { kind: 'not-connected', what: `No connection was established${inBrackets(code)}.`, ...named };
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return { kind: 'too-large', what: "The answer's headers are larger than allowed.", ...named };
  if (isMalformed(error)) return { kind: 'bad-answer', what: 'The answer is not HTTP.' };
  const what = isAnswered ? 'The answer ended before it was complete' : 'The connection was lost before an answer';
  return { kind: 'unknown-outcome', what: `${what}${inBrackets(code)}.`, ...named };
}

/** Codes are constants of Node, OpenSSL and undici; anything else is left out. */
function codeOf(error: Error): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{0,60}$/.test(code) ? code : undefined;
}

function inBrackets(code: string | undefined): string {
  return code === undefined ? '' : ` (${code})`;
}

/** The parser's own error, which has no code. An answer that ends too early is incomplete, not malformed. */
function isMalformed({ name, message }: Error): boolean {
  return name === 'HTTPParserError' && !message.includes('Invalid EOF state');
}
