import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A connection on which so many requests wait is not read any further for now. */
const MAX_WAITING = 16;
/** Each takes some kilobytes. A connection on which more than the above wait is closed rather than have more in all. */
const MAX_WAITING_IN_ALL = 10_000;

/**
 * Serves the requests of one connection one after another. The runtime hands over all requests that have arrived, and a
 * client that pipelines thousands would have them served before any other client's next one. Between two requests of a
 * connection all others have their turn.
 */
export function inTurn(serve: RequestListener, maxWaitingInAll = MAX_WAITING_IN_ALL): RequestListener {
  const shared: Shared = { serve, maxWaitingInAll, waiting: 0 };
  return (req, res) => {
    const { socket } = req;
    let line = LINES.get(socket);
    if (line === undefined) LINES.set(socket, (line = new Line(socket, shared)));
    line.take([req, res]);
  };
}

/**
 * Nothing that can be read comes on a connection any more. Requests that came whole before that are answered yet, and
 * nothing after them is; answers the response of the last one that waits.
 */
export function endAfterWaiting(socket: Socket): ServerResponse | undefined {
  return LINES.get(socket)?.end();
}

type Exchange = readonly [req: IncomingMessage, res: ServerResponse];

/** What the connections of a server have in common. */
interface Shared {
  readonly serve: RequestListener;
  readonly maxWaitingInAll: number;
  /** Requests that wait, on all connections. */
  waiting: number;
}

const LINES = new WeakMap<Socket, Line>();

/** The requests of one connection. */
class Line {
  private waiting: Exchange[] = [];
  private isServing = false;
  private isPaused = false;
  private isEnded = false;

  constructor(
    private readonly socket: Socket,
    private readonly shared: Shared,
  ) {
    // The runtime reads on by itself whenever a body is read or skipped.
    socket.on('resume', () => {
      if (this.isPaused) socket.pause();
    });
    // No client is left to receive an answer.
    socket.once('close', () => this.drop());
  }

  take(exchange: Exchange): void {
    const { socket, shared } = this;
    if (!this.isServing) return this.begin(exchange);
    // The runtime goes through the rest of what it has read.
    if (socket.destroyed || this.isEnded) return;
    this.waiting.push(exchange);
    shared.waiting += 1;
    if (this.waiting.length < MAX_WAITING) return;
    if (shared.waiting > shared.maxWaitingInAll) {
      this.drop();
      socket.destroy();
    } else if (!this.isPaused) {
      this.isPaused = true;
      socket.pause();
    }
  }

  end(): ServerResponse | undefined {
    this.isEnded = true;
    const whole = this.waiting.filter(([req]) => req.complete);
    this.shared.waiting -= this.waiting.length - whole.length;
    this.waiting = whole;
    return whole.at(-1)?.[1];
  }

  private begin(exchange: Exchange): void {
    this.isServing = true;
    exchange[1].once('close', () => {
      if (this.waiting.length > 0) setImmediate(() => this.next());
      else this.isServing = false;
    });
    this.shared.serve(...exchange);
  }

  private next(): void {
    // After the last answer of a connection no request is served, as its answer could not be sent.
    if (!this.socket.writable) this.drop();
    const first = this.waiting.shift();
    if (first === undefined) {
      this.isServing = false;
      return;
    }
    this.shared.waiting -= 1;
    if (this.isPaused && !this.isEnded && this.waiting.length < MAX_WAITING) {
      this.isPaused = false;
      this.socket.resume();
    }
    this.begin(first);
  }

  private drop(): void {
    this.shared.waiting -= this.waiting.length;
    this.waiting = [];
  }
}
