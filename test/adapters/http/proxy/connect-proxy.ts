import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Pair } from '../../../fixtures/authority.js';

/** A request that the proxy received. */
export interface Asked {
  readonly authority: string;
  readonly headers: IncomingHttpHeaders;
}

/** The proxy's reaction instead of opening a tunnel. */
export type Refusing = (socket: Duplex) => void;

/**
 * A proxy on the loopback that opens tunnels to ports of the loopback, whatever the host, or behaves as the test says.
 */
export class ConnectProxy {
  readonly asked: Asked[] = [];
  /** All that came through its tunnels from clients. */
  received = '';
  private readonly sockets = new Set<Duplex>();

  private constructor(
    private readonly server: Server,
    private readonly protocol: 'http' | 'https',
  ) {}

  static async open(refusing?: Refusing, pair?: Pair): Promise<ConnectProxy> {
    const server = pair === undefined ? createServer() : createTlsServer({ cert: pair.cert, key: pair.key });
    const proxy = new ConnectProxy(server, pair === undefined ? 'http' : 'https');
    server.on('connection', (socket: Socket) => proxy.keep(socket));
    server.on('connect', ({ url = '', headers }, socket: Duplex) => {
      proxy.asked.push({ authority: url, headers });
      proxy.keep(socket);
      if (refusing === undefined) proxy.tunnel(url, socket);
      else refusing(socket);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.protocol}://127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await Promise.resolve();
  }

  private tunnel(authority: string, socket: Duplex): void {
    const onwards = connect(Number(authority.slice(authority.lastIndexOf(':') + 1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.on('data', (piece: Buffer) => {
        this.received += piece.toString('latin1');
      });
      socket.pipe(onwards);
      onwards.pipe(socket);
    });
    this.keep(onwards);
    socket.once('close', () => onwards.destroy());
    onwards.once('close', () => socket.destroy());
  }

  private keep(socket: Duplex): void {
    this.sockets.add(socket);
    socket.on('error', () => undefined);
  }
}
