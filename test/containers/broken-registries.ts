import { connect, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { join, RELAY_PORT } from './registry-proxy.js';

/** A proxy whose connections to package registries break for good after this many bytes were received. */
export class BrokenRegistries {
  private readonly sockets = new Set<Socket>();
  private received = 0;

  private constructor(
    private readonly server: Server,
    private readonly bytes: number,
  ) {
    server.on('connection', (client) => this.serve(client));
  }

  static async after(bytes: number): Promise<BrokenRegistries> {
    const server = createServer();
    server.listen(0, '0.0.0.0');
    await once(server, 'listening');
    return new BrokenRegistries(server, bytes);
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  get isBroken(): boolean {
    return this.received >= this.bytes;
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private serve(client: Socket): void {
    client.on('error', () => client.destroy());
    if (this.isBroken) return void client.destroy();
    const remote = connect(RELAY_PORT, '127.0.0.1');
    remote.on('data', (data: Buffer) => {
      this.received += data.length;
      if (this.isBroken) for (const socket of this.sockets) socket.destroy();
    });
    for (const socket of [client, remote]) {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    }
    join(client, remote);
  }
}
