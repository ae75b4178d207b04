import type { Socket } from 'node:net';
import type { Agent, WebSocket } from 'undici';
import { undici } from '../lazy-packages.js';
import { readTarget } from './allow-list.js';
import type { Connect } from './connections.js';

/** One connection that receives texts from a server. */
export interface TextSocket {
  /** Closes it; nothing more is received. */
  close(): void;
}

/** The bounds of one WebSocket, in milliseconds. */
export interface TextSocketLimits {
  /** From the call to the end of the server's answer to the upgrade. */
  readonly upgradeTimeoutMs: number;
  /** Without a byte from the server, after which it is pinged; after as long again the connection is given up. */
  readonly silenceTimeoutMs: number;
  /** From our close to the end of the connection. */
  readonly closeTimeoutMs: number;
}

export interface TextSocketRequest {
  /** http or https: the address of the upgrade. */
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly limits?: Partial<TextSocketLimits>;
  readonly onText: (text: string) => void;
  /** Once, when the connection has ended or was never made; not after `close`. */
  readonly onEnd: () => void;
}

const DEFAULT_LIMITS: TextSocketLimits = {
  upgradeTimeoutMs: 30_000,
  silenceTimeoutMs: 30_000,
  closeTimeoutMs: 1_000,
};

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/**
 * WebSockets through the connections of a guarded client. Binary messages are passed over, and one message has at most
 * 16 MiB: a longer one ends the connection.
 */
export class WebSockets {
  private readonly open = new Set<BoundedSocket>();
  private isClosed = false;

  constructor(private readonly connect: Connect) {}

  /** Throws `HttpError` for an address that cannot be one. */
  receive(request: TextSocketRequest): TextSocket {
    const socket = new BoundedSocket(request, this.connect);
    this.open.add(socket);
    void socket.ended.then(() => this.open.delete(socket));
    if (this.isClosed) socket.close();
    return socket;
  }

  /** Resolves when every connection has ended, which the longest `closeTimeoutMs` bounds. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const socket of this.open) socket.leave();
    await Promise.all([...this.open].map(({ ended }) => ended));
  }
}

/** One WebSocket on a TCP connection of its own, which is cut where the server keeps it longer than the limits. */
class BoundedSocket implements TextSocket {
  /** Resolves when the connection is closed or cut. */
  readonly ended: Promise<void>;
  private readonly limits: TextSocketLimits;
  private readonly agent: Agent;
  private readonly socket: WebSocket;
  private tcp: Socket | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isOver = false;
  private isLeft = false;
  private hasEnded = false;
  private settle: () => void = () => undefined;

  constructor(
    private readonly request: TextSocketRequest,
    connect: Connect,
  ) {
    const { url, headers = {}, limits } = request;
    const { origin, path } = readTarget(url);
    this.limits = { ...DEFAULT_LIMITS, ...limits };
    this.ended = new Promise((resolve) => {
      this.settle = resolve;
    });
    this.agent = new (undici().Agent)({
      connect: (options, callback) => connect(options, callback, (tcp) => this.has(tcp)),
      webSocket: { maxPayloadSize: MAX_MESSAGE_BYTES },
    });
    const address = (origin + path).replace(/^http/, 'ws');
    this.socket = new (undici().WebSocket)(address, { dispatcher: this.agent, headers: { ...headers } });
    this.socket.binaryType = 'arraybuffer';
    this.socket.addEventListener('open', () => this.watch());
    this.socket.addEventListener('message', ({ data }) => {
      if (!this.isOver && typeof data === 'string') request.onText(data);
    });
    // It is followed by a close.
    this.socket.addEventListener('error', () => undefined);
    this.socket.addEventListener('close', () => this.end());
    this.limit(this.limits.upgradeTimeoutMs, () => this.end());
  }

  close(): void {
    this.isOver = true;
    this.leave();
  }

  /** Says that it closes. The end of the connection is reported like any other. */
  leave(): void {
    if (this.isLeft) return;
    this.isLeft = true;
    const isOpen = this.socket.readyState === this.socket.OPEN;
    this.socket.close();
    // Before the response to the upgrade, no closing handshake is possible.
    if (isOpen) this.limit(this.limits.closeTimeoutMs, () => this.end());
    else this.end();
  }

  /** Gives a server up that sends nothing, not even the answer to a ping. It may have nothing to say for hours. */
  private watch(): void {
    if (this.isLeft) return;
    const { silenceTimeoutMs } = this.limits;
    const receivedBytes = this.tcp?.bytesRead;
    this.limit(silenceTimeoutMs, () => {
      // The server has said that it closes, and has not.
      if (this.socket.readyState !== this.socket.OPEN) return this.end();
      if (this.tcp?.bytesRead !== receivedBytes) return this.watch();
      undici().ping(this.socket);
      this.limit(silenceTimeoutMs, () => (this.tcp?.bytesRead === receivedBytes ? this.end() : this.watch()));
    });
  }

  /** In place of the limit before. The connection holds the process, so the timer need not. */
  private limit(afterMs: number, then: () => void): void {
    clearTimeout(this.timer);
    if (!this.hasEnded) this.timer = setTimeout(then, afterMs).unref();
  }

  private end(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    clearTimeout(this.timer);
    this.tcp?.destroy();
    // The library may be calling this, and is not done with its connection.
    queueMicrotask(() => void this.agent.destroy());
    this.settle();
    if (this.isOver) return;
    this.isOver = true;
    this.request.onEnd();
  }

  private has(tcp: Socket): void {
    this.tcp = tcp;
    if (this.hasEnded) tcp.destroy();
  }
}
