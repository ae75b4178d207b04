/**
 * The outcome of a request:
 * - `refused-address`: the target is none this client may send to;
 * - `not-connected`: no connection was established, or none on which the request could begin;
 * - `unknown-outcome`: the request was sent, at least in part, and the answer is incomplete;
 * - `too-large`: the answer has more bytes, in its headers or its body, than the limits allow;
 * - `timed-out`: the phase that `phase` names took too long;
 * - `aborted`: the signal was aborted, or the client was closed;
 * - `bad-answer`: an answer arrived, and is invalid.
 */
export type HttpErrorKind =
  | 'refused-address'
  | 'not-connected'
  | 'unknown-outcome'
  | 'too-large'
  | 'timed-out'
  | 'aborted'
  | 'bad-answer';

/**
 * `connect` is all before the request's first byte: waiting for a connection, name resolution, TCP and TLS. `idle` is a
 * pause in the answer's body.
 */
export type TimedOutPhase = 'connect' | 'headers' | 'idle' | 'total';

export interface HttpErrorDetails {
  /** False only if no byte of the request can have reached the server. */
  readonly requestSent: boolean;
  /** The limit that was exceeded, for `timed-out`. */
  readonly phase?: TimedOutPhase;
  /** The operating system's, TLS's or the parser's name for what went wrong, such as ECONNREFUSED. */
  readonly code?: string;
  /** How long the response asks to wait before the next request, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Whether the response refuses the credential of the request. */
  readonly isAccessRefused?: boolean;
}

/**
 * The one error of outgoing requests. `requestSent` decides whether the same request may be made again without the risk
 * that it is carried out twice. The message has the method and the address without its query and user information, of an
 * address with a secret path the origin alone, and nothing that was sent.
 */
export class HttpError extends Error {
  readonly requestSent: boolean;
  declare readonly phase?: TimedOutPhase;
  declare readonly code?: string;
  declare readonly retryAfterMs?: number;
  declare readonly isAccessRefused?: boolean;

  constructor(
    readonly kind: HttpErrorKind,
    message: string,
    { requestSent, phase, code, retryAfterMs, isAccessRefused }: HttpErrorDetails,
  ) {
    super(message);
    this.name = 'HttpError';
    this.requestSent = requestSent;
    if (phase !== undefined) this.phase = phase;
    if (code !== undefined) this.code = code;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
    if (isAccessRefused !== undefined) this.isAccessRefused = isAccessRefused;
  }
}

/** Longer waits are taken for a mistake. */
const LONGEST_MS = 30 * 24 * 60 * 60 * 1_000;

const SECONDS = /^\d{1,10}(?:\.\d{1,6})?$/;
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The milliseconds that a `Retry-After` header asks to wait, as seconds or as a date of HTTP; undefined where it says
 * nothing that can be used: another form, a date that is past, or more than 30 days. A date counts from the answer's own
 * `Date` header where it has one, so that clocks need not agree.
 */
export function readRetryAfter(
  retryAfter: string | undefined,
  date: string | undefined,
  nowMs: number,
): number | undefined {
  const text = retryAfter?.trim() ?? '';
  const waitMs = SECONDS.test(text) ? Math.ceil(Number(text) * 1_000) : untilMs(text, date, nowMs);
  return waitMs !== undefined && waitMs >= 0 && waitMs <= LONGEST_MS ? waitMs : undefined;
}

function untilMs(text: string, date: string | undefined, nowMs: number): number | undefined {
  const at = dateMs(text);
  return at === undefined ? undefined : at - (dateMs(date?.trim() ?? '') ?? nowMs);
}

function dateMs(text: string): number | undefined {
  const at = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}
