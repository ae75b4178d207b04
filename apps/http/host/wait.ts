import type { ServerResponse } from 'node:http';
import type { Cancellation } from '../../../core/cancellation.js';
import type { HttpContext } from './http-context.js';
import type { HttpShared } from './server.js';

type StopHooks = Pick<HttpShared, 'isStopping' | 'onStopping'>;
/** Calls `onRefused`, until the returned function is called, when the sender of the request would be refused now. */
type Follow = (onRefused: () => void) => () => void;

/** How long a stream that is over may take to end: its client may not read it. */
const END_MS = 500;

/**
 * Listeners of a wait, in an array of their exact number: thousands of requests wait, most with one listener, for which a
 * Set or an array that grows takes 150 bytes. A listener may be added several times, and each is called once.
 */
class Listeners {
  private listeners: readonly (() => void)[] = NONE;

  get isEmpty(): boolean {
    return this.listeners.length === 0;
  }

  add(tell: () => void): void {
    this.listeners = this.listeners.concat(tell);
  }

  remove(tell: () => void): void {
    const at = this.listeners.indexOf(tell);
    if (at >= 0) this.listeners = this.listeners.toSpliced(at, 1);
  }

  tell(): void {
    for (const tell of this.listeners) tell();
  }
}

const NONE: readonly (() => void)[] = [];

/** Over when the client has gone, when its credential is no longer valid, and when this process is to stop. */
export class ServedWait implements Cancellation {
  get deadline(): number {
    return Infinity;
  }

  private readonly listeners = new Listeners();
  private forget: readonly (() => void)[] = NONE;
  private isRefused = false;

  constructor(
    private readonly call: Cancellation,
    private readonly host: StopHooks,
    private readonly follow: Follow = () => () => undefined,
  ) {}

  get isOver(): boolean {
    return this.isRefused || this.host.isStopping() || this.call.isOver;
  }

  /** The credential is checked only while there is a listener. */
  onOver(tell: () => void): () => void {
    if (this.listeners.isEmpty) this.listen();
    this.listeners.add(tell);
    return () => {
      this.listeners.remove(tell);
      if (!this.listeners.isEmpty) return;
      for (const one of this.forget) one();
      this.forget = NONE;
    };
  }

  private listen(): void {
    const tell = (): void => this.listeners.tell();
    const refuse = (): void => {
      this.isRefused = true;
      tell();
    };
    this.forget = [this.call.onOver(tell), this.host.onStopping(tell), this.follow(refuse)];
  }
}

/** A request for one who waits: over when its client has gone, or has all of the response. */
class Closing implements Cancellation {
  get deadline(): number {
    return Infinity;
  }

  constructor(protected readonly res: ServerResponse) {}

  get isOver(): boolean {
    // The library ends the response to a client that has gone, so that it may also be called finished.
    return this.res.closed;
  }

  onOver(tell: () => void): () => void {
    this.res.on('close', tell);
    return () => this.res.off('close', tell);
  }
}

/** The same for use cases. */
export class Disconnect extends Closing {
  private readonly listeners = new Listeners();

  override onOver(tell: () => void): () => void {
    // One listener for all: a response with many would be reported as one that leaks them.
    if (this.listeners.isEmpty) this.res.on('close', this.tellAll);
    this.listeners.add(tell);
    return () => {
      this.listeners.remove(tell);
      if (this.listeners.isEmpty) this.res.off('close', this.tellAll);
    };
  }

  private readonly tellAll = (): void => this.listeners.tell();
}

/** The wait of a request for its response, or for the end of its stream. */
export class RequestWait extends ServedWait {
  private readonly idleMs: number;
  private hasEnded = false;
  private stopListening: (() => void) | undefined;

  constructor(
    private readonly ctx: HttpContext,
    host: StopHooks,
    follow: Follow,
  ) {
    super(new Closing(ctx.res), host, follow);
    const { socket } = ctx.req;
    // A client that waits sends nothing, and is not idle.
    this.idleMs = socket.timeout ?? 0;
    socket.setTimeout(0);
  }

  /**
   * The response is a stream on which something is sent at least this often: a client that takes nothing for three times
   * as long is gone, and one that does not read the end is disconnected.
   */
  streams(beatMs: number): void {
    const { req, res } = this.ctx;
    if (this.idleMs > 0) req.socket.setTimeout(Math.max(this.idleMs, 3 * beatMs));
    this.stopListening = this.onOver(() => {
      setTimeout(() => {
        if (!res.writableFinished) res.destroy();
      }, END_MS).unref();
    });
  }

  /** Ends the wait, which its request must do: before a response that is long, or after it. */
  end(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.stopListening?.();
    this.ctx.req.socket.setTimeout(this.idleMs);
  }
}
