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
  /** Of `timed-out`, which limit was exceeded. */
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
