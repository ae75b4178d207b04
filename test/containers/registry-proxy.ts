/**
 * The way of a build from the engine's network, which leads nowhere, to package registries: a proxy for CONNECT outside
 * of the engine's namespace, behind a Unix socket, and a relay inside that forwards connections to that socket.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** The port of the relay on every address of the engine's namespace. */
export const RELAY_PORT = 3128;

const HEAD_LIMIT_BYTES = 8_192;

/** Serves CONNECT requests to port 443 on a Unix socket. */
export async function serveRegistryProxy(socketPath: string): Promise<Server> {
  const server = createServer((client) => {
    let head = '';
    const onData = (data: Buffer): void => {
      head += data.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end === -1 && head.length < HEAD_LIMIT_BYTES) return;
      client.off('data', onData);
      const [, host] = /^CONNECT ([\w.-]+):443 /.exec(head) ?? [];
      if (host === undefined) client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      else tunnel(client, host);
    };
    client.on('data', onData);
    client.on('error', () => client.destroy());
  });
  server.listen(socketPath);
  await once(server, 'listening');
  return server;
}

function tunnel(client: Socket, host: string): void {
  const remote = connect(443, host, () => {
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    join(client, remote);
  });
  remote.on('error', () => client.destroy());
}

/** Forwards connections to a Unix socket. */
export async function serveRelay(socketPath: string, port = RELAY_PORT): Promise<Server> {
  const server = createServer((client) => join(client, connect(socketPath)));
  server.listen(port, '0.0.0.0');
  await once(server, 'listening');
  return server;
}

/** Passes bytes in both directions until either side ends. */
export function join(one: Socket, other: Socket): void {
  one.pipe(other).pipe(one);
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
  }
}
