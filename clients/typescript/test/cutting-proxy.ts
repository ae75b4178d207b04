import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** When a connection is cut: before the service has received the request, or after its response. */
export type Cut = 'before' | 'after';

/** A proxy to the service that cuts connections when a matching request passes, a given number of times. */
export class CuttingProxy {
  private readonly sockets = new Set<Socket>();
  private planned: { readonly line: RegExp; readonly where: Cut; times: number } | undefined;
  /** How many connections were cut. */
  cuts = 0;

  private constructor(
    private readonly server: Server,
    private readonly port: number,
  ) {}

  static async to(url: string): Promise<CuttingProxy> {
    const server = createServer();
    const proxy = new CuttingProxy(server, Number(new URL(url).port));
    server.on('connection', (socket) => {
      proxy.join(socket);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The next requests whose first line fits are cut, `times` of them. */
  cut(line: RegExp, where: Cut, times = 1): void {
    this.planned = { line, where, times };
    this.cuts = 0;
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private join(client: Socket): void {
    const service = connect(this.port, '127.0.0.1');
    let isDoomed = false;
    const end = () => {
      client.destroy();
      service.destroy();
    };
    for (const socket of [client, service]) {
      this.sockets.add(socket);
      socket.on('error', end).on('close', () => {
        this.sockets.delete(socket);
        end();
      });
    }
    client.on('data', (chunk) => {
      const { planned } = this;
      if (planned && planned.times > 0 && planned.line.test(chunk.toString('latin1').split('\r\n')[0] ?? '')) {
        planned.times -= 1;
        this.cuts += 1;
        isDoomed = true;
        if (planned.where === 'before') {
          end();
          return;
        }
      }
      service.write(chunk);
    });
    service.on('data', (chunk) => {
      // The service has responded, so it has executed the request, but the client receives no response.
      if (isDoomed) end();
      else client.write(chunk);
    });
  }
}
