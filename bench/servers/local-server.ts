import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that keeps connections for longer than a run rests. A request that cannot be served loses its connection. */
export function localServer(serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>): Server {
  return createServer({ keepAliveTimeout: 65_000, noDelay: true }, (request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
}

/** Listens on a free port of loopback, and returns the port. */
export function listenLocally(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}
