import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { type Closing, type Listening, listening } from '../../fixtures/opened.js';

export interface Connection {
  readonly socket: Socket;
  /** All that has come on it so far. */
  readonly received: () => string;
}

/**
 * A TCP server on the loopback that handles each connection as the test says. It records the text received on all
 * connections.
 */
export class RawServer {
  readonly connections: Connection[] = [];

  private constructor(private readonly place: Listening) {}

  static async open(
    onConnection: (connection: Connection, index: number) => void,
    host = '127.0.0.1',
  ): Promise<RawServer> {
    const server = createServer({ allowHalfOpen: false });
    const raw = new RawServer(await listening(server, host));
    server.on('connection', (socket) => {
      const pieces: Buffer[] = [];
      const connection = { socket, received: () => Buffer.concat(pieces).toString('latin1') };
      socket.on('data', (piece) => pieces.push(piece));
      socket.on('error', () => undefined);
      raw.connections.push(connection);
      onConnection(connection, raw.connections.length - 1);
    });
    return raw;
  }

  get port(): number {
    return this.place.port;
  }

  get url(): string {
    return this.place.url;
  }

  /** The text received on all connections, in the order of the connections. */
  get received(): string {
    return this.connections.map(({ received }) => received()).join('');
  }

  close(): Promise<unknown> {
    return this.place.close();
  }
}

/** Answers each request that has come whole, of those without a body, with these bytes. */
export function answering(answer: string | Buffer): (connection: Connection) => void {
  return ({ socket, received }) => {
    let answered = 0;
    socket.on('data', () => {
      const requests = received().split('\r\n\r\n').length - 1;
      for (; answered < requests; answered += 1) socket.write(answer);
    });
  };
}

/** Calls back once a request's headers, or also its body, have arrived. */
export function onceReceived({ socket, received }: Connection, text: string, then: () => void): void {
  let called = false;
  const look = () => {
    if (called || !received().includes(text)) return;
    called = true;
    then();
  };
  socket.on('data', look);
  look();
}

/** Servers on the loopback that answer everything with one body, and other resources that a test opens. */
export class BodyServers {
  private readonly opened: Closing[] = [];

  /** It is closed after the test. */
  keep<T extends Closing>(one: T): T {
    this.opened.push(one);
    return one;
  }

  /** The address of a server, which is closed after the test. */
  async listening(server: HttpServer): Promise<string> {
    return `${this.keep(await listening(server)).url}/`;
  }

  /** A server that answers everything with this body; it counts the bytes that it could send of an endless one. */
  async serving(
    body: Uint8Array | 'endless',
    headers: Record<string, string> = {},
  ): Promise<{ readonly url: string; sent: number }> {
    const counted = { url: '', sent: 0 };
    const server = createHttpServer((_, response) => {
      response.writeHead(200, headers);
      if (body !== 'endless') return void response.end(body);
      const piece = Buffer.alloc(16 * 1024, 'x');
      const more = () => {
        do counted.sent += piece.byteLength;
        while (response.write(piece) && !response.destroyed);
      };
      response.on('drain', more);
      more();
    });
    counted.url = await this.listening(server);
    return counted;
  }

  async close(): Promise<void> {
    await Promise.all(this.opened.splice(0).map((one) => one.close()));
  }
}

/** Lets the event loop turn so often. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1)
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
}
