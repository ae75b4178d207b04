import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A connection on which so many requests wait is not read any further for now. */
const MAX_WAITING = 16;

/**
 * Serves the requests of one connection one after another. The runtime hands over all that have arrived at once, and whoever
 * sends thousands without waiting for an answer would have them served before anybody else's next one. Between two requests
 * of a connection all others have their turn.
 */
export function inTurn(serve: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, Line>();
  return (req, res) => {
    const { socket } = req;
    let line = lines.get(socket);
    if (line === undefined) lines.set(socket, (line = new Line(socket, serve)));
    line.take(req, res);
  };
}

type Exchange = readonly [req: IncomingMessage, res: ServerResponse];

/** The requests of one connection. */
class Line {
  private waiting: Exchange[] = [];
  private isServing = false;
  private isPaused = false;

  constructor(private readonly socket: Socket, private readonly serve: RequestListener) {
    // The runtime reads on by itself whenever a body is read or skipped.
    socket.on('resume', () => { if (this.isPaused) socket.pause(); });
    // Nobody is left to have an answer.
    socket.once('close', () => { this.waiting = []; });
  }

  take(req: IncomingMessage, res: ServerResponse): void {
    if (!this.isServing) return this.begin(req, res);
    this.waiting.push([req, res]);
    if (this.isPaused || this.waiting.length < MAX_WAITING) return;
    this.isPaused = true;
    this.socket.pause();
  }

  private begin(req: IncomingMessage, res: ServerResponse): void {
    this.isServing = true;
    res.once('close', () => {
      if (this.waiting.length > 0) setImmediate(() => this.next());
      else this.isServing = false;
    });
    this.serve(req, res);
  }

  private next(): void {
    // After the last answer of a connection nothing is served that nobody could be told of.
    if (!this.socket.writable) this.waiting = [];
    const first = this.waiting.shift();
    if (first === undefined) {
      this.isServing = false;
      return;
    }
    if (this.isPaused && this.waiting.length < MAX_WAITING) {
      this.isPaused = false;
      this.socket.resume();
    }
    this.begin(...first);
  }
}
