import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { cacheFolder } from '../../test/servers/find-program.js';
import { ServerAbsent } from '../../test/servers/server-absent.js';
import type { JobQueue } from './job-queue.js';

/** BullMQ is no dependency of ours: it is kept where servers for tests are, and its pins name its folder there. */
const PINS = { bullmq: '6.7.0', ioredis: '5.11.1' } as const;
const FOLDER = join(cacheFolder(), `bullmq-npm-${PINS.bullmq}-ioredis-${PINS.ioredis}`);
const INSTALL_MS = 300_000;

/** As much of the library as is used here. */
interface BullMq {
  readonly Queue: new (
    name: string,
    options: Connected,
  ) => {
    waitUntilReady(): Promise<unknown>;
    add(name: string, data: unknown): Promise<unknown>;
    close(): Promise<void>;
  };
  readonly Worker: new (
    name: string,
    handler: Handler,
    options: Connected & { readonly concurrency: number },
  ) => {
    waitUntilReady(): Promise<unknown>;
    on(event: 'completed', listener: () => void): unknown;
    on(event: 'error', listener: (error: Error) => void): unknown;
    close(): Promise<void>;
  };
}

type Handler = (job: { readonly data: { readonly id: string } }) => Promise<void>;

interface Connected {
  readonly connection: { readonly host: string; readonly port: number; readonly maxRetriesPerRequest: null };
}

const NAME = 'bench';

/** Installs it, once a machine; answers where it is. */
export function installBullMq(): string {
  if (isBullMqThere()) return FOLDER;
  mkdirSync(dirname(FOLDER), { recursive: true });
  const partial = mkdtempSync(join(dirname(FOLDER), 'partial-bullmq-'));
  try {
    writeFileSync(join(partial, 'package.json'), '{ "private": true }\n');
    const wanted = Object.entries(PINS).map(([name, version]) => `${name}@${version}`);
    const flags = ['--save-exact', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'];
    execFileSync('npm', ['install', '--prefix', partial, ...flags, ...wanted], {
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: INSTALL_MS,
    });
    rmSync(FOLDER, { recursive: true, force: true });
    renameSync(partial, FOLDER);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
  return FOLDER;
}

/** Throws `ServerAbsent` where it is not installed. */
export function needBullMq(): void {
  if (!isBullMqThere()) throw new ServerAbsent('BullMQ is not on this machine: run `npm run bench:install`.');
}

function isBullMqThere(): boolean {
  return existsSync(join(FOLDER, 'node_modules', 'bullmq', 'package.json'));
}

/** A queue with the defaults of its documentation: finished jobs are kept, and no job is retried. */
export async function openBullMq({
  port,
  concurrency,
}: {
  readonly port: number;
  readonly concurrency: number;
}): Promise<JobQueue> {
  const { Queue, Worker }: BullMq = createRequire(join(FOLDER, 'package.json'))('bullmq');
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
  const queue = new Queue(NAME, { connection });
  await queue.waitUntilReady();
  let worker: InstanceType<BullMq['Worker']> | undefined;
  return {
    add: async (id) => void (await queue.add('job', { id })),
    async work({ started, ended }) {
      worker = new Worker(NAME, async ({ data }) => started(data.id), { connection, concurrency });
      worker.on('error', (error) => console.error(error));
      worker.on('completed', ended);
      await worker.waitUntilReady();
    },
    async close() {
      await worker?.close();
      await queue.close();
    },
  };
}
