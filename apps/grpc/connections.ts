import type { Server as NetServer } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Server } from '@grpc/grpc-js';
import type { Logger } from 'pino';

/** As many as over REST. */
const MAX_CONNECTIONS = 10_000;

/**
 * Bounds the connections of a listening server, and logs those that TLS refuses: the library does neither, and does not
 * expose the servers that it has created. If an upgrade of the library renames them, this fails immediately.
 */
export function boundConnections(server: Server, logger: Logger): void {
  const listening: unknown = Reflect.get(server, 'http2Servers');
  if (!(listening instanceof Map) || listening.size === 0)
    throw new Error('This version of the gRPC library stores its servers elsewhere.');
  for (const own of listening.keys() as Iterable<NetServer>) {
    own.maxConnections = MAX_CONNECTIONS;
    own.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
      logger.info({ code: error.code, reason: error.message, peer: socket.remoteAddress }, 'TLS refused');
    });
  }
}
