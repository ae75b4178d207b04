import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../../test/servers/find-program.js';
import { freePort } from '../../test/servers/free-port.js';
import { npmPackages } from '../../test/servers/npm-packages.js';
import { ServerAbsent } from '../../test/servers/server-absent.js';
import { OwnServer } from '../servers/own-server.js';
import { type GatewayServer, isAlive } from './gateway-server.js';

const SOURCES = fileURLToPath(new URL('../../../bench/gateways/portkey/', import.meta.url));

/** What an install has is a program that says its version, which the gateway does not. */
const NODE = 'node';
const START = 'node_modules/@portkey-ai/gateway/build/start-server.js';

/** Portkey's gateway, which stores nothing and knows no keys of its own. */
export const PORTKEY = npmPackages({ name: 'portkey', title: 'Portkey' }, SOURCES, NODE, (folder) => [
  { program: 'ln', args: ['-s', process.execPath, join(folder, NODE)] },
]);

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
      args: [join(dirname(found.path), START), `--port=${port}`, '--headless'],
      // It refuses upstream servers of this machine that are not named.
      environment: { NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1', HOME: folder },
      folder,
      endSignal: 'SIGTERM',
    },
  );
  return { port, server };
}
