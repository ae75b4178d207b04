import type { Server } from 'node:http';
import type { Socket } from 'node:net';

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
      res.once('close', () => this.count(socket, -1));
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

  /** What has arrived by now is read first: all sockets have had their turn between one such moment and the next. */
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
