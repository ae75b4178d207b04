import type { Waits } from '../../../core/memory-budget.js';
import { Disconnect, WaitEnd } from './disconnect.js';
import type { HttpContext } from './http-context.js';
import type { HttpShared } from './server.js';
import { WatchedWait } from './watched-wait.js';

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
