import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * Passes on everything between its own port and another, and counts what comes in: what a process sends while its link
 * is in trouble.
 *
 * A connection to the other port is ended, never destroyed, and read to its end. Toxiproxy 2.5.0, which listens there,
 * stops for ever when a toxic comes or goes while it has bytes for a connection that is gone.
 */
export class CountedPort {
  /** Pieces of data that clients sent, as they arrived: about one a request. */
  received = 0;
  private readonly clients = new Set<Socket>();
  private readonly upstreams = new Set<Socket>();
  private readonly server: Server;
  private changes = 0;

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

  /**
   * Changes what stands behind the other port while everything that its connections bring is read, also for clients
   * that do not read.
   */
  async reading<T>(change: () => Promise<T>): Promise<T> {
    this.changes += 1;
    for (const upstream of this.upstreams) upstream.resume();
    try {
      return await change();
    } finally {
      this.changes -= 1;
    }
  }

  async close(): Promise<void> {
    this.server.close();
    for (const socket of [...this.clients, ...this.upstreams]) socket.destroy();
    await once(this.server, 'close');
  }

  private pass(client: Socket): void {
    const upstream = connect({ host: '127.0.0.1', port: this.upstreamPort });
    client.on('data', () => {
      this.received += 1;
    });
    client.pipe(upstream);
    upstream.on('data', (bytes) => {
      if (!client.destroyed && !client.write(bytes) && this.changes === 0) upstream.pause();
    });
    client.on('drain', () => upstream.resume());
    upstream.on('end', () => client.end());
    upstream.on('error', () => client.resetAndDestroy());
    upstream.on('close', () => {
      this.upstreams.delete(upstream);
      client.destroy();
    });
    client.on('error', () => undefined);
    client.on('close', () => {
      this.clients.delete(client);
      upstream.end();
      upstream.resume();
    });
    this.clients.add(client);
    this.upstreams.add(upstream);
    for (const socket of [client, upstream]) socket.setNoDelay(true);
  }
}
