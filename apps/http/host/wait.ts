import type { ServerResponse } from 'node:http';
import type { Cancellation } from '../../../core/cancellation.js';
import type { Waits } from '../../../core/cancellation.js';
import type { HttpContext } from './http-context.js';
import type { HttpShared } from './server.js';

/** A request as use cases know it: over when its client has gone, or has all of its answer. */
export class Disconnect implements Cancellation {
  readonly deadline = Infinity;
  private readonly told = new Set<() => void>();

  constructor(private readonly res: ServerResponse) {}

  get isOver(): boolean {
    // The library ends the answer to a client that has gone, so that it may also be called finished.
    return this.res.closed;
  }

  onOver(tell: () => void): () => void {
    // One listener for all: a response that many wait for would be reported as one that leaks them.
    if (this.told.size === 0) this.res.once('close', this.tellAll);
    const one = (): void => tell();
    this.told.add(one);
    return () => {
      this.told.delete(one);
      if (this.told.size === 0) this.res.off('close', this.tellAll);
    };
  }

  private readonly tellAll = (): void => {
    for (const tell of Array.from(this.told)) tell();
  };
}

/** What a request may wait for: until its client has gone, or this process is to stop. */
export class WaitEnd implements Cancellation {
  readonly deadline = Infinity;

  constructor(
    private readonly call: Cancellation,
    private readonly host: Pick<HttpShared, 'isStopping' | 'onStopping'>,
  ) {}

  get isOver(): boolean {
    return this.host.isStopping() || this.call.isOver;
  }

  onOver(tell: () => void): () => void {
    const forget = [this.call.onOver(tell), this.host.onStopping(tell)];
    return () => {
      for (const one of forget) one();
    };
  }
}

/** A wait that is over, too, when its credential is no longer valid; that is looked at while somebody listens for it. */
export class WatchedWait implements Cancellation {
  readonly deadline = Infinity;
  private readonly told = new Set<() => void>();
  private followNoMore: (() => void) | undefined;
  private isRefused = false;

  constructor(
    private readonly outer: Cancellation,
    /** Tells, until the returned function is called, when who waits would be refused now. */
    private readonly follow: (tell: () => void) => () => void,
  ) {}

  get isOver(): boolean {
    return this.isRefused || this.outer.isOver;
  }

  onOver(tell: () => void): () => void {
    this.told.add(tell);
    this.followNoMore ??= this.follow(() => this.refuse());
    const listenNoMore = this.outer.onOver(tell);
    return () => {
      this.told.delete(tell);
      listenNoMore();
      if (this.told.size > 0) return;
      this.followNoMore?.();
      this.followNoMore = undefined;
    };
  }

  private refuse(): void {
    this.isRefused = true;
    for (const tell of this.told) tell();
  }
}

/** How long a stream that is over may take to end: its client may not read it. */
const END_MS = 500;

/**
 * The wait of a request for its answer, or for the end of what it is sent. Over when the client has gone, when its credential
 * is no longer valid, and when this process is to stop.
 */
export class RequestWait implements Waits {
  private readonly wait: WatchedWait;
  private readonly idleMs: number;
  private listenNoMore: (() => void) | undefined;

  /** `follow` tells, until the function that it returns is called, when who sent the request would be refused now. */
  constructor(
    private readonly ctx: HttpContext,
    host: Pick<HttpShared, 'isStopping' | 'onStopping'>,
    follow: (tell: () => void) => () => void,
  ) {
    const { req, res } = ctx;
    this.wait = new WatchedWait(new WaitEnd(new Disconnect(res), host), follow);
    // A client that waits sends nothing, and is not idle.
    this.idleMs = req.socket.timeout ?? 0;
    req.socket.setTimeout(0);
  }

  get isOver(): boolean {
    return this.wait.isOver;
  }

  onOver(tell: () => void): () => void {
    return this.wait.onOver(tell);
  }

  /**
   * What is sent is a stream with a sign of life at least this often: a client that takes nothing for three times as long
   * is gone, and one that does not read the end is cut off.
   */
  streams(beatMs: number): void {
    const { req, res } = this.ctx;
    if (this.idleMs > 0) req.socket.setTimeout(Math.max(this.idleMs, 3 * beatMs));
    this.listenNoMore = this.onOver(() => {
      setTimeout(() => {
        if (!res.writableFinished) res.destroy();
      }, END_MS).unref();
    });
  }

  /** Ends the wait, which its request must do. */
  end(): void {
    this.listenNoMore?.();
    this.ctx.req.socket.setTimeout(this.idleMs);
  }
}
