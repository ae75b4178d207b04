import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorCode } from '../../../core/errors.js';
import type { Ids } from '../../../core/ports/machine.js';
import { errorEnvelope } from './send.js';
import type { ClientAddresses } from './client-addresses.js';
import { STATUSES } from './errors.js';
import type { ConnectionRefusal, HttpObserver } from './http-context.js';

/** The number of waiting requests at which a connection is not read any further for now. */
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
 * The client sends nothing more on the connection. Complete requests received before that are still answered, and
 * later data is ignored; returns the response of the last request that waits.
 */
function endAfterWaiting(socket: Socket): ServerResponse | undefined {
  return LINES.get(socket)?.end();
}

type Exchange = readonly [req: IncomingMessage, res: ServerResponse];

/** State that the connections of a server share. */
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
    exchange[1].on('close', () => {
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

const CLOSE_AFTER_MS = 1_000;

/**
 * Answers what the runtime's HTTP parser refuses, in the envelope like everything else: two lengths, a length with
 * chunks, folded headers, headers too long, requests that do not arrive in time.
 */
export function answerRefusedConnections(server: Server, ids: Pick<Ids, 'uuid'>, observer?: HttpObserver): void {
  server.on('drop', () => observer?.refused('full'));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: AnsweringSocket) => {
    const { _httpMessage: underWay } = socket;
    if (error.code === 'ECONNRESET' || !socket.writable || underWay?.headersSent === true) {
      socket.destroy();
      return;
    }
    const [code, message, reason] = refusalOf(error.code);
    observer?.refused(reason);
    if (underWay?.req.complete === true) {
      // The fault came after this request and those that wait, which may be accepted; a refusal now would be taken for
      // their answer. The answer of the last of them is the last on the connection.
      (endAfterWaiting(socket) ?? underWay).shouldKeepAlive = false;
      socket.pause();
      return;
    }
    const text = errorEnvelope(ids.uuid(), code, message);
    socket.on('error', () => socket.destroy());
    socket.end(rawAnswer(STATUSES[code], text));
    setTimeout(() => socket.destroy(), CLOSE_AFTER_MS).unref();
  });
}

/** The runtime keeps the current answer here. A second head within an answer would be read as part of it. */
type AnsweringSocket = Socket & { readonly _httpMessage?: ServerResponse | null };

function refusalOf(runtimeCode: string | undefined): readonly [ErrorCode, string, ConnectionRefusal] {
  if (runtimeCode === 'ERR_HTTP_REQUEST_TIMEOUT')
    return ['REQUEST_TIMEOUT', 'The request did not arrive in time.', 'timeout'];
  if (runtimeCode === 'HPE_HEADER_OVERFLOW')
    return ['BODY_INVALID', 'The headers of the request are too long.', 'headers_too_long'];
  return ['BODY_INVALID', 'The request is not valid HTTP/1.1.', 'malformed'];
}

const REASONS: Readonly<Record<number, string>> = { 400: 'Bad Request', 408: 'Request Timeout' };

function rawAnswer(status: number, text: string): string {
  return [
    `HTTP/1.1 ${status} ${REASONS[status] ?? 'Error'}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    'Connection: close',
    '',
    text,
  ].join('\r\n');
}

/**
 * The connections of an HTTP server with the number of requests in progress on each. The runtime counts a connection on
 * which nothing, or only part of a head, was sent as busy, and once the server is closing nothing ends such
 * connections.
 */
export class OpenConnections {
  private readonly requests = new Map<Socket, number>();
  private isLettingGo = false;

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.requests.set(socket, 0);
      socket.once('close', () => this.requests.delete(socket));
      if (this.isLettingGo) this.letGoSoon();
    });
    server.prependListener('request', ({ socket }, res) => {
      this.count(socket, 1);
      res.on('close', () => this.count(socket, -1));
    });
  }

  /** Ends the connections without a request, now and whenever one has answered its last. */
  letGo(): void {
    this.isLettingGo = true;
    this.letGoSoon();
  }

  private count(socket: Socket, by: 1 | -1): void {
    const underWay = this.requests.get(socket);
    // One that is gone takes its answers with it.
    if (underWay === undefined) return;
    this.requests.set(socket, underWay + by);
    if (this.isLettingGo) this.letGoIfIdle(socket);
  }

  /** Data that has arrived is read first: between two such callbacks every socket is read. */
  private letGoSoon(): void {
    setImmediate(() =>
      setImmediate(() => {
        for (const socket of this.requests.keys()) this.letGoIfIdle(socket);
      }),
    );
  }

  private letGoIfIdle(socket: Socket): void {
    // An answer that is written but not sent yet is sent.
    if (this.requests.get(socket) === 0) socket.destroySoon();
  }
}

/** Closes the connections of one client beyond this number, so that it cannot take all there are. */
export function limitConnections(
  server: Server,
  addresses: ClientAddresses,
  perAddress: number,
  onRefused: () => void,
): void {
  const countByClient = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    if (addresses.isProxy(socket.remoteAddress)) return;
    const client = addresses.ofPeer(socket.remoteAddress);
    const count = countByClient.get(client) ?? 0;
    if (count >= perAddress) {
      onRefused();
      socket.destroy();
      return;
    }
    countByClient.set(client, count + 1);
    socket.once('close', () => {
      const left = (countByClient.get(client) ?? 0) - 1;
      if (left > 0) countByClient.set(client, left);
      else countByClient.delete(client);
    });
  });
}
