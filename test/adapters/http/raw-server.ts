import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export interface Connection {
  readonly socket: Socket;
  /** All that has come on it so far. */
  readonly received: () => string;
}

/**
 * A TCP server on the loopback that does with each connection what a test says. It keeps what it received, over all
 * connections.
 */
export class RawServer {
  readonly connections: Connection[] = [];
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async open(
    onConnection: (connection: Connection, index: number) => void,
    host = '127.0.0.1',
  ): Promise<RawServer> {
    const server = createServer({ allowHalfOpen: false });
    const raw = new RawServer(server);
    server.on('connection', (socket) => {
      const pieces: Buffer[] = [];
      const connection = { socket, received: () => Buffer.concat(pieces).toString('latin1') };
      socket.on('data', (piece) => pieces.push(piece));
      socket.on('error', () => undefined);
      raw.sockets.add(socket);
      raw.connections.push(connection);
      onConnection(connection, raw.connections.length - 1);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, host, resolve);
    });
    return raw;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What came in on all connections together. */
  get received(): string {
    return this.connections.map(({ received }) => received()).join('');
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => {
      this.server.close(resolve);
    });
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

/** Calls back once a request's headers, or its body too, have come. */
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
