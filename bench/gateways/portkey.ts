import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../../test/servers/find-program.js';
import { freePort } from '../../test/servers/free-port.js';
import { nodePackages, packagesFolder } from '../../test/servers/npm-packages.js';
import { ServerAbsent } from '../../test/servers/server-absent.js';
import { OwnServer } from '../servers/own-server.js';
import { type GatewayServer, isAlive } from './gateway-server.js';

const SOURCES = fileURLToPath(new URL('../../../bench/gateways/portkey/', import.meta.url));

const START = 'node_modules/@portkey-ai/gateway/build/start-server.js';

/** Portkey's gateway: it stores nothing and checks no keys. */
export const PORTKEY = nodePackages({ name: 'portkey', title: 'Portkey' }, SOURCES);

/** The headers that name its upstream server, by the base URL of an Images API. */
export function portkeyHeaders(baseUrl: string): Readonly<Record<string, string>> {
  return { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': baseUrl };
}

/** Throws `ServerAbsent` if it is not installed. */
export async function startPortkey(folder: string): Promise<GatewayServer> {
  const found = findProgram(PORTKEY);
  if (!found) throw new ServerAbsent('Portkey is not on this machine: run `npm run bench:install`.');
  const port = await freePort();
  const server = await OwnServer.start(
    { title: PORTKEY.title, isReady: () => isAlive(port, '/') },
    {
      program: process.execPath,
      // Without its page for people, which collects requests.
      args: [join(packagesFolder(found), START), `--port=${port}`, '--headless'],
      // It refuses upstream servers of this machine that are not named.
      environment: { NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1', HOME: folder },
      folder,
      endSignal: 'SIGTERM',
    },
  );
  return { port, server };
}
