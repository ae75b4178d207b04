import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Answers with the status that a test sets, at first 204, and stores the requests it receives. */
export class WebhookReceiver {
  readonly received: Received[] = [];
  statuses: number[] = [];
  private readonly server: Server;

  constructor() {
    this.server = createServer((req, res) => {
      let body = '';
      req.setEncoding('utf8').on('data', (piece: string) => {
        body += piece;
      });
      req.on('end', () => {
        this.received.push({ path: req.url ?? '', headers: req.headers, body });
        res.writeHead(this.statuses.shift() ?? 204).end();
        this.server.emit('received');
      });
    });
  }

  async open(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async next(count: number): Promise<Received> {
    while (this.received.length < count) await once(this.server, 'received');
    return this.received[count - 1] as Received;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}
