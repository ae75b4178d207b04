import { request } from 'node:http';
import type { OwnServer } from '../servers/own-server.js';

/** A gateway that we are compared with. */
export interface GatewayServer {
  readonly port: number;
  readonly server: OwnServer;
}

/** Whether a server answers 200 at this path. */
export function isAlive(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asking = request({ host: '127.0.0.1', port, path, timeout: 1_000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asking.on('timeout', () => asking.destroy());
    asking.on('error', () => resolve(false));
    asking.end();
  });
}
