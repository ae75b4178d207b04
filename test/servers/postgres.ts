import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { FoundProgram } from './find-program.js';
import { dataOf, type KindOfServer, type Settings } from './kind-of-server.js';
import type { ProgramName } from './programs.js';
import { isPostgresReady } from './readiness.js';
import { supervision } from './supervision.js';
import type { SystemUser } from './supervisor-messages.js';

const run = promisify(execFile);

const NOBODY = 65_534;
/** PostgreSQL refuses to run as root. */
const POSTGRES_USER: SystemUser | undefined = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : undefined;

/** The settings of a single server or of a node of a cluster. Writes are on disk before they are acknowledged. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  shared_buffers: '64MB',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  wal_level: 'logical',
  max_wal_senders: 20,
  max_replication_slots: 20,
  // A new replica needs the log since the copy of its data.
  wal_keep_size: '512MB',
  wal_retrieve_retry_interval: '200ms',
  // The files of mmap are in the data folder, and are removed with it.
  dynamic_shared_memory_type: 'mmap',
  jit: 'off',
};
const OWN_SETTINGS = 'test.conf';

/**
 * PostgreSQL with the superuser `postgres`, who needs no password on this machine. The default collation is English, as on most
 * servers.
 */
export function postgres(program: ProgramName): KindOfServer {
  return {
    program,
    user: POSTGRES_USER,
    prepare,
    command: async (found) => join(await programFolder(found), 'bin', 'postgres'),
    args: (settings) => ['-D', dataOf(settings)],
    environment: () => ENVIRONMENT,
    // Neither signal waits until clients disconnect.
    ends: { inOrder: 'SIGINT', atOnce: 'SIGQUIT' },
    removeRemains,
    url: (port) => postgresUrl(port),
    isReady: ({ port }) => isPostgresReady(postgresUrl(port)),
  };
}

export function postgresUrl(port: number, database = 'postgres'): string {
  return `postgres://postgres@127.0.0.1:${port}/${database}`;
}

const ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC' };

async function prepare(settings: Settings, found: FoundProgram): Promise<void> {
  const data = dataOf(settings);
  giveAway(settings.folder, data);
  chmodSync(data, 0o700);
  if (!existsSync(join(data, 'PG_VERSION'))) await copyInitialised(found, data);
  writeSettings(settings);
}

function writeSettings(settings: Settings): void {
  const lines = Object.entries({ ...SETTINGS, port: settings.port }).map(([name, value]) => `${name} = '${value}'`);
  writeFileSync(join(dataOf(settings), OWN_SETTINGS), [...lines, settings.lines, ''].join('\n'));
}

/** Makes the server's user the owner of the paths. */
export function giveAway(...paths: readonly string[]): void {
  if (POSTGRES_USER) for (const path of paths) chownSync(path, POSTGRES_USER.uid, POSTGRES_USER.gid);
}

const programFolders = new Map<string, Promise<string>>();

/** The folder of the program and its libraries. For root this is a copy, because the server's user cannot read root's cache. */
function programFolder(found: FoundProgram): Promise<string> {
  return onceFor(programFolders, found, async () => {
    const folder = dirname(dirname(realpathSync(found.path)));
    if (!POSTGRES_USER) return folder;
    const copy = (await supervision()).freshFolder();
    chmodSync(copy, 0o755);
    // Hard links suffice if both folders are on the same file system.
    await run('cp', ['-Rl', `${folder}/.`, copy]).catch(() => run('cp', ['-R', `${folder}/.`, copy]));
    return copy;
  });
}

const INITDB_OPTIONS = [
  '--username=postgres',
  '--auth=trust',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=icu',
  '--icu-locale=en',
  '--no-sync',
];
const initialisedFolders = new Map<string, Promise<string>>();

/**
 * Fills a data folder, and makes the server's user the owner of the folder and its parent. All servers of a version start with a
 * copy of the same data. The copy takes a tenth of the time of initdb, and allows a server to become a replica of another.
 */
export async function copyInitialised(found: FoundProgram, data: string): Promise<void> {
  const initialised = await onceFor(initialisedFolders, found, () => initialisedFolder(found));
  await run('cp', ['-R', `${initialised}/.`, data]);
  if (POSTGRES_USER) await run('chown', ['-R', `${POSTGRES_USER.uid}:${POSTGRES_USER.gid}`, dirname(data)]);
}

/** Returns a folder with the output of initdb, which is cached beside the program. */
async function initialisedFolder(found: FoundProgram): Promise<string> {
  const options = createHash('sha256')
    .update([...INITDB_OPTIONS, OWN_SETTINGS].join(' '))
    .digest('hex')
    .slice(0, 12);
  const kept = join(dirname(found.path), `data-${options}`);
  if (existsSync(kept)) return kept;
  const made = (await supervision()).freshFolder();
  giveAway(made);
  await run(join(await programFolder(found), 'bin', 'initdb'), [...INITDB_OPTIONS, '-D', made], {
    ...POSTGRES_USER,
    cwd: '/',
    env: { PATH: process.env['PATH'], ...ENVIRONMENT },
  });
  appendFileSync(join(made, 'postgresql.conf'), `include '${OWN_SETTINGS}'\n`);
  await keep(made, kept).catch(() => undefined);
  return made;
}

/** Fails if the cache is not writable, or if another process was faster. */
async function keep(made: string, kept: string): Promise<void> {
  const partial = mkdtempSync(`${kept}-`);
  try {
    await run('cp', ['-R', `${made}/.`, partial]);
    renameSync(partial, kept);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** Removes the System V shared memory that a killed server leaves. */
function removeRemains(settings: Settings): void {
  const lockFile = join(dataOf(settings), 'postmaster.pid');
  if (!existsSync(lockFile)) return;
  const [, id] = /^ *\d+ +(\d+)$/m.exec(readFileSync(lockFile, 'utf8')) ?? [];
  if (id !== undefined) execFile('ipcrm', ['-m', id], () => undefined);
}

function onceFor(
  known: Map<string, Promise<string>>,
  { path }: FoundProgram,
  made: () => Promise<string>,
): Promise<string> {
  const folder = known.get(path) ?? made();
  known.set(path, folder);
  return folder;
}
