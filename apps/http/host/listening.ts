import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OpenConnections } from './open-connections.js';

/** The port of one HTTP server, and its connections from the first to the last. */
export class Listening {
  private readonly connections: OpenConnections;

  /** Called before clients can connect. `section` is that of the configuration. */
  constructor(
    private readonly server: Server,
    private readonly section: 'rest' | 'internal',
  ) {
    this.connections = new OpenConnections(server);
  }

  /**
   * Port 0 takes any free one; answers the one taken. Throws one sentence that names the keys of the section when it
   * cannot.
   */
  listen(host: string, port: number): Promise<{ readonly host: string; readonly port: number }> {
    const { server, section } = this;
    return new Promise((resolve, reject) => {
      const refuse = (error: NodeJS.ErrnoException) => reject(cannotListen(section, host, port, error));
      server.once('error', refuse);
      server.listen(port, host, () => {
        server.off('error', refuse);
        resolve({ host, port: (server.address() as AddressInfo).port });
      });
    });
  }

  /**
   * Accepts no more connections, finishes the requests in progress, closes idle connections, and aborts the rest after
   * `graceMs`.
   */
  close(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cut = setTimeout(() => this.server.closeAllConnections(), graceMs);
      this.server.close(() => {
        clearTimeout(cut);
        resolve();
      });
      this.connections.letGo();
    });
  }
}

function cannotListen(section: string, host: string, port: number, error: NodeJS.ErrnoException): Error {
  const reason =
    error.code === 'EADDRINUSE'
      ? 'another process does'
      : error.code === 'EACCES'
        ? 'this user may not'
        : `the system says ${error.code ?? error.message}`;
  return new Error(
    `The server cannot listen on port ${port} of ${host}, since ${reason}; choose another ${section}.port or ${section}.host.`,
    { cause: error },
  );
}
