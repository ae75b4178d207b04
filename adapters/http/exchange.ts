import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { AbortSignalLike } from '../../core/cancellation.js';
import { AddressRefused, readTarget, type Target } from './allow-list.js';
import type { Connection, Connections } from './connections.js';
import { HttpError, type HttpErrorDetails, type HttpErrorKind, type TimedOutPhase } from './http-error.js';
import { BodyQueue, OutgoingBody, SENT_PIECE_BYTES } from './http-request.js';
import type { HttpLimits } from './limits.js';
import { ProxyFailure } from './proxies.js';

/** One request to one target. */
export interface Hop {
  readonly method: string;
  readonly target: Target;
  /** The part of the address that errors show. */
  readonly shown: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** Whether a redirect in the answer is followed. The call's time then keeps running. */
  readonly followsRedirect: boolean;
  /** Whether this request follows a redirect itself: one of the same call was sent before. */
  readonly isFollowing: boolean;
}

/**
 * One request and its answer on one connection. The request counts as sent from just before its first byte is handed to
 * the operating system: a failure before that is certain to have had no effect. It is never sent twice.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  status = 0;
  isRedirect = false;
  headers: IncomingHttpHeaders = {};
  /** The address that the answer came from; unknown on a connection that is kept for other requests. */
  peer: string | undefined;
  private isSent = false;
  private hasEnded = false;
  private isAnswered = false;
  private hasContent = false;
  private controller: Dispatcher.DispatchController | undefined;
  private timer: NodeJS.Timeout | undefined;
  private leaveSlot: (() => void) | undefined;
  private connection: Connection | undefined;
  /** A body that is sent piece by piece. */
  private readonly outgoing: OutgoingBody | undefined;
  /** A body that is sent with the headers. */
  private readonly short: Uint8Array | undefined;
  private readonly pieces: BodyQueue;
  private settle: { readonly resolve: () => void; readonly reject: (error: HttpError) => void } | undefined;

  constructor(
    readonly hop: Hop,
    private readonly limits: HttpLimits,
    private readonly life: CallLife,
  ) {
    this.pieces = new BodyQueue({ pause: () => this.controller?.pause(), resume: () => this.controller?.resume() });
    const { body } = hop;
    this.short = body instanceof Uint8Array && body.byteLength <= SENT_PIECE_BYTES ? body : undefined;
    // An upload may take as long as it makes progress: the time for the answer restarts with each piece.
    this.outgoing =
      body === undefined || this.short !== undefined
        ? undefined
        : new OutgoingBody(body, () => {
            if (!this.isAnswered && !this.hasEnded) this.limit('headers', this.limits.headersTimeoutMs);
          });
  }

  /** Resolves when the headers of the answer have come. The wait for a slot counts as part of the connection's time. */
  begin(connections: Connections): Promise<void> {
    return new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
      this.life.onCut((over) => this.cut(over));
      if (this.hasEnded) return;
      this.limit('connect', this.limits.connectTimeoutMs);
      this.leaveSlot = connections.slots.take(this.hop.target.origin, () => this.dispatch(connections));
      // A request that failed at once ended before it knew its slot.
      if (this.hasEnded) this.leaveSlot();
    });
  }

  private dispatch(connections: Connections): void {
    const {
      method,
      headers,
      target: { origin, path },
    } = this.hop;
    this.connection = connections.open(origin);
    const body = (this.outgoing ?? (this.short?.byteLength === 0 ? null : this.short) ?? null) as never;
    try {
      this.connection.dispatch({ origin, path, method, headers, body, headersTimeout: 0, bodyTimeout: 0 }, this);
    } catch (error) {
      this.onResponseError(undefined, error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** The answer's body as received from the network. Leaving it before its end closes the connection. */
  async *received(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const piece = await this.pieces.next(() => {
          const { idleTimeoutMs, firstByteTimeoutMs = idleTimeoutMs } = this.limits;
          this.limit('idle', this.hasContent ? idleTimeoutMs : firstByteTimeoutMs);
          return () => this.unlimit();
        });
        if (piece === undefined) return;
        yield piece;
      }
    } finally {
      this.drop();
    }
  }

  /** Notes that the answer's body has more than white space, so that pauses in it are of the connection. */
  noteContent(): void {
    this.hasContent = true;
  }

  /** Gives up what has not been received. */
  drop(): void {
    // An error records its stack, which takes longer than the rest of this.
    if (!this.hasEnded) this.fail(this.error('aborted', 'The answer was abandoned.'));
  }

  readonly error = (
    kind: HttpErrorKind,
    what: string,
    details: Omit<HttpErrorDetails, 'requestSent'> = {},
  ): HttpError => {
    const { method, shown, isFollowing } = this.hop;
    return new HttpError(kind, `${method} ${shown}: ${what}`, {
      requestSent: this.isSent || isFollowing,
      ...details,
    });
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.isSent) this.fail(this.error('unknown-outcome', 'The connection was lost.'));
    // Aborted here, nothing is written.
    if (this.hasEnded) return controller.abort(new Error('The request was abandoned.'));
    this.controller = controller;
    this.isSent = true;
    this.limit('headers', this.limits.headersTimeoutMs);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.unlimit();
    this.status = status;
    this.headers = headers;
    this.peer = this.connection?.peer;
    this.isRedirect = this.hop.followsRedirect && isRedirect(status, headers);
    this.isAnswered = true;
    this.settle?.resolve();
  }

  onResponseData(_: Dispatcher.DispatchController, piece: Uint8Array): void {
    this.pieces.push(piece);
  }

  onResponseEnd(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.endTime();
    this.outgoing?.stop(new Error('The answer is complete.'));
    this.connection?.end(this.outgoing === undefined);
    this.pieces.end();
  }

  onResponseError(_: unknown, error: Error): void {
    const { kind, what, ...details } = failureOf(error, { isSent: this.isSent, isAnswered: this.isAnswered });
    this.fail(this.error(kind, what, details));
  }

  private cut(over: Over): void {
    if (over === 'total') this.timeOut('total', this.limits.totalTimeoutMs);
    else this.fail(this.error('aborted', over === 'closed' ? 'The client was closed.' : 'The call was aborted.'));
  }

  private timeOut(phase: TimedOutPhase, limitMs: number): void {
    this.fail(this.error('timed-out', `${PHASES[phase]} took longer than ${limitMs} ms.`, { phase }));
  }

  private fail(error: HttpError): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.endTime();
    this.outgoing?.stop(error);
    if (this.isAnswered) this.pieces.fail(error);
    else this.settle?.reject(error);
    // The library takes a connection that closes while it is paused for a mistake of its own, and throws.
    this.controller?.resume();
    this.connection?.cut();
    this.controller?.abort(error);
  }

  private limit(phase: TimedOutPhase, limitMs: number): void {
    this.unlimit();
    this.timer = setTimeout(() => this.timeOut(phase, limitMs), limitMs);
  }

  private unlimit(): void {
    clearTimeout(this.timer);
  }

  private endTime(): void {
    this.unlimit();
    this.leaveSlot?.();
    if (!this.isRedirect) this.life.end();
  }
}

const PHASES: Readonly<Record<TimedOutPhase, string>> = {
  connect: 'The connection',
  headers: "The answer's headers",
  idle: "A pause in the answer's body",
  total: 'The call',
};

export type Over = 'aborted' | 'closed' | 'total';

/**
 * The time from a call to the last byte of its answer, over all redirects. It ends early when its signal is aborted or
 * the client is closed.
 */
export class CallLife {
  private listener: ((over: Over) => void) | undefined;
  private readonly abort = () => this.cut('aborted');
  private readonly timer: NodeJS.Timeout;
  private hasEnded = false;
  private over: Over | undefined;

  constructor(
    private readonly signal: AbortSignalLike,
    private readonly others: Set<CallLife>,
    totalTimeoutMs: number,
  ) {
    this.timer = setTimeout(() => this.cut('total'), totalTimeoutMs);
    signal.addEventListener('abort', this.abort, { once: true });
    others.add(this);
  }

  /**
   * Called once, when the call is aborted, or immediately if it already was; each exchange of the call replaces the
   * previous one.
   */
  onCut(listener: (over: Over) => void): void {
    this.listener = listener;
    if (this.over !== undefined) listener(this.over);
  }

  cut(over: Over): void {
    if (this.hasEnded) return;
    this.over = over;
    this.end();
    this.listener?.(over);
  }

  end(): void {
    this.hasEnded = true;
    clearTimeout(this.timer);
    this.signal.removeEventListener('abort', this.abort);
    this.others.delete(this);
  }
}

interface Failure {
  readonly kind: HttpErrorKind;
  readonly what: string;
  readonly code?: string;
  readonly phase?: TimedOutPhase;
}

/**
 * The meaning of a connection error for the request on that connection. The error's own message is not repeated: it may
 * hold what was sent.
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

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** Headers that say nothing about who is asking: all that another origin is sent after a redirect. */
const HEADERS_FOR_OTHERS: readonly string[] = ['accept', 'accept-encoding', 'accept-language', 'user-agent'];

export function isRedirect(status: number, { location }: IncomingHttpHeaders): boolean {
  return REDIRECTS.includes(status) && location !== undefined;
}

/**
 * The target of a redirect. Whether that address may be called is checked when it is connected to, as for any other.
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
