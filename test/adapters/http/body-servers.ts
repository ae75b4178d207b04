import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Closing {
  close(): Promise<unknown>;
}

/** Servers on the loopback that answer everything with one body, and what else a test opens. */
export class BodyServers {
  private readonly opened: Closing[] = [];

  /** It is closed after the test. */
  keep<T extends Closing>(one: T): T {
    this.opened.push(one);
    return one;
  }

  /** The address of a server, which is closed after the test. */
  async listening(server: Server): Promise<string> {
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    this.keep({
      close: async () => {
        server.closeAllConnections();
        server.close();
      },
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  /** A server that answers everything with this body; it counts what it could send of one that has no end. */
  async serving(
    body: Uint8Array | 'endless',
    headers: Record<string, string> = {},
  ): Promise<{ readonly url: string; sent: number }> {
    const counted = { url: '', sent: 0 };
    const server = createServer((_, response) => {
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
