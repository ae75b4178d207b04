import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * Passes on everything between its own port and another, and counts what comes in: what a process sends while its link
 * is in trouble.
 */
export class CountedPort {
  /** Pieces of data that clients sent, as they arrived: about one a request. */
  received = 0;
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;

  private constructor(private readonly upstreamPort: number) {
    this.server = createServer((socket) => this.pass(socket));
  }

  static async open(upstreamPort: number): Promise<CountedPort> {
    const port = new CountedPort(upstreamPort);
    port.server.listen(0, '127.0.0.1');
    await once(port.server, 'listening');
    return port;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await once(this.server, 'close');
  }

  private pass(client: Socket): void {
    const upstream = connect({ host: '127.0.0.1', port: this.upstreamPort });
    client.on('data', () => {
      this.received += 1;
    });
    client.pipe(upstream).pipe(client);
    this.join(client, upstream);
    this.join(upstream, client);
  }

  /** Whatever ends one side ends the other, a reset as a reset. */
  private join(one: Socket, other: Socket): void {
    this.sockets.add(one);
    one.setNoDelay(true);
    one.on('error', () => other.resetAndDestroy());
    one.on('close', () => {
      this.sockets.delete(one);
      other.destroy();
    });
  }
}
