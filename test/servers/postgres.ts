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

/** The settings of a server of one node or of several. Its writes are on disk when they are acknowledged. */
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
  // A copy of the data that was just taken finds what was written since.
  wal_keep_size: '512MB',
  wal_retrieve_retry_interval: '200ms',
  // Files in the data folder, which go with it.
  dynamic_shared_memory_type: 'mmap',
  jit: 'off',
};
const OWN_SETTINGS = 'test.conf';

/**
 * PostgreSQL with the superuser `postgres`, who needs no password on this machine. Its texts are ordered by the rules of
 * English unless a column says otherwise, as on most servers.
 */
export function postgres(program: ProgramName): KindOfServer {
  return {
    program,
    user: POSTGRES_USER,
    prepare,
    command: async (found) => join(await programFolder(found), 'bin', 'postgres'),
    args: (settings) => ['-D', dataOf(settings)],
    environment: () => ENVIRONMENT,
    // Neither waits for clients to leave.
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

/** Makes the user of the server the owner. */
export function giveAway(...paths: readonly string[]): void {
  if (POSTGRES_USER) for (const path of paths) chownSync(path, POSTGRES_USER.uid, POSTGRES_USER.gid);
}

const programFolders = new Map<string, Promise<string>>();

/** The folder of the program and of what it needs: for root a copy, as the user of the server cannot enter root's cache. */
function programFolder(found: FoundProgram): Promise<string> {
  return onceFor(programFolders, found, async () => {
    const folder = dirname(dirname(realpathSync(found.path)));
    if (!POSTGRES_USER) return folder;
    const copy = (await supervision()).freshFolder();
    chmodSync(copy, 0o755);
    // Links to the same files where both folders are on one file system.
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
 * Fills a data folder, and makes the user of the server its owner and that of the folder around it. All servers of a version
 * begin with copies of the same data, which takes a tenth of the time that making it takes, and so one can be made a replica
 * of another.
 */
export async function copyInitialised(found: FoundProgram, data: string): Promise<void> {
  const initialised = await onceFor(initialisedFolders, found, () => initialisedFolder(found));
  await run('cp', ['-R', `${initialised}/.`, data]);
  if (POSTGRES_USER) await run('chown', ['-R', `${POSTGRES_USER.uid}:${POSTGRES_USER.gid}`, dirname(data)]);
}

/** Beside the program, once a process has made it. */
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

/** Fails where the cache cannot be written, or another process was faster. */
async function keep(made: string, kept: string): Promise<void> {
  const partial = mkdtempSync(`${kept}-`);
  try {
    await run('cp', ['-R', `${made}/.`, partial]);
    renameSync(partial, kept);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** A killed server leaves its segment of System V, by which the next one on the same data would know of it. */
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
