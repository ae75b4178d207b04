import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { BodyQueue } from './body-queue.js';
import type { CallLife, Over } from './call-life.js';
import type { Connection, Connections } from './connections.js';
import { failureOf } from './failure.js';
import { HttpError, type HttpErrorDetails, type HttpErrorKind, type TimedOutPhase } from './http-error.js';
import type { HttpLimits } from './limits.js';
import { OutgoingBody } from './outgoing-body.js';
import { isRedirect } from './redirect.js';
import type { Target } from './target.js';

/** One request to one target. */
export interface Hop {
  readonly method: string;
  readonly target: Target;
  /** What errors show of the address. */
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
  private isSent = false;
  private hasEnded = false;
  private isAnswered = false;
  private hasContent = false;
  private controller: Dispatcher.DispatchController | undefined;
  private timer: NodeJS.Timeout | undefined;
  private leaveSlot: (() => void) | undefined;
  private connection: Connection | undefined;
  private readonly outgoing: OutgoingBody | undefined;
  private readonly pieces: BodyQueue;
  private settle: { readonly resolve: () => void; readonly reject: (error: HttpError) => void } | undefined;

  constructor(
    readonly hop: Hop,
    private readonly limits: HttpLimits,
    private readonly life: CallLife,
  ) {
    this.pieces = new BodyQueue({ pause: () => this.controller?.pause(), resume: () => this.controller?.resume() });
    const { body } = hop;
    // An upload may take as long as it makes progress: the time for the answer restarts with each piece.
    this.outgoing =
      body === undefined || (body instanceof Uint8Array && body.byteLength === 0)
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
    try {
      this.connection.dispatch(
        { origin, path, method, headers, body: (this.outgoing ?? null) as never, headersTimeout: 0, bodyTimeout: 0 },
        this,
      );
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
    this.fail(this.error('aborted', 'The answer was abandoned.'));
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
    this.connection?.end();
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
