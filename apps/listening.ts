import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Port 0 takes any free one; answers the one taken. Throws one sentence that names the keys of `section` when it cannot. */
export function listen(server: Server, section: 'rest' | 'internal', host: string, port: number): Promise<{ readonly host: string; readonly port: number }> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(cannotListen(section, host, port, error));
    server.once('error', refuse);
    server.listen(port, host, () => {
      server.off('error', refuse);
      resolve({ host, port: (server.address() as AddressInfo).port });
    });
  });
}

function cannotListen(section: string, host: string, port: number, error: NodeJS.ErrnoException): Error {
  const reason = error.code === 'EADDRINUSE' ? 'another process does' : error.code === 'EACCES' ? 'this user may not' : `the system says ${error.code ?? error.message}`;
  return new Error(`The server cannot listen on port ${port} of ${host}, since ${reason}; choose another ${section}.port or ${section}.host.`, { cause: error });
}

/** Takes no more connections, finishes the requests under way, and cuts what is left after `graceMs`. */
export function closeServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
