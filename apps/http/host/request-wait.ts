import type { Waits } from '../../../core/memory-budget.js';
import type { CredentialWatch } from './credential-watch.js';
import { Disconnect, WaitEnd } from './disconnect.js';
import type { HttpContext } from './http-context.js';
import { readCredential } from './request-headers.js';
import type { HttpShared } from './server.js';

export interface WaitingParts extends Pick<HttpShared, 'isStopping' | 'onStopping'> {
  readonly credentialWatch: CredentialWatch;
}

/**
 * The wait of a request for its answer, or for the end of what it is sent. Over when the client has gone, when its credential
 * is no longer valid, and when this process is to stop.
 */
export class RequestWait implements Waits {
  private readonly told = new Set<() => void>();
  private readonly outer: Waits;
  private readonly followNoMore: () => void;
  private readonly idleMs: number;
  private isRefused = false;

  constructor(
    private readonly ctx: HttpContext,
    parts: WaitingParts,
  ) {
    const { req, res } = ctx;
    this.outer = new WaitEnd(new Disconnect(res), parts);
    this.followNoMore = parts.credentialWatch.follow(readCredential(req) ?? '', () => this.refuse());
    // A client that waits sends nothing, and is not idle.
    this.idleMs = req.socket.timeout ?? 0;
    req.socket.setTimeout(0);
  }

  get isOver(): boolean {
    return this.isRefused || this.outer.isOver;
  }

  onOver(tell: () => void): () => void {
    this.told.add(tell);
    const listenNoMore = this.outer.onOver(tell);
    return () => {
      this.told.delete(tell);
      listenNoMore();
    };
  }

  /** Ends the wait, which its request must do. */
  end(): void {
    this.followNoMore();
    this.ctx.req.socket.setTimeout(this.idleMs);
  }

  private refuse(): void {
    this.isRefused = true;
    for (const tell of this.told) tell();
  }
}
