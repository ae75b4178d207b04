import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { installDebianPackage } from '../../test/servers/debian-package.js';
import { commandPath, type Environment } from '../../test/servers/find-program.js';
import { freePort } from '../../test/servers/free-port.js';
import { ServerAbsent } from '../../test/servers/server-absent.js';
import type { SystemUser } from '../../test/servers/supervisor-messages.js';
import { OwnServer } from '../servers/own-server.js';

/** Debian keeps each version's programs in a folder of its own, and not on the PATH. */
const DEBIAN_FOLDER = '/usr/lib/postgresql';
const PROGRAMS = ['postgres', 'initdb', 'pg_isready'] as const;
/** The one who owns the database, and, where this process is root's, the user of Debian's package who runs it. */
const OWNER = 'postgres';

/** The folder with the programs of PostgreSQL: of those on the PATH, else of Debian's newest version; null without. */
export function findPostgres(environment: Environment = process.env, debianFolder = DEBIAN_FOLDER): string | null {
  const onPath = commandPath('postgres', environment);
  const versions = existsSync(debianFolder) ? readdirSync(debianFolder) : [];
  const folders = [
    ...(onPath === null ? [] : [dirname(onPath)]),
    ...versions.toSorted((a, b) => Number(b) - Number(a)).map((version) => join(debianFolder, version, 'bin')),
  ];
  return folders.find((folder) => PROGRAMS.every((name) => existsSync(join(folder, name)))) ?? null;
}

/** Where Debian's package looks for what it is to do when it is installed. */
const DEBIAN_SETTINGS = '/etc/postgresql-common/createcluster.d';

/**
 * Installs Debian's package, and keeps it from making a database and starting a server of its own. Answers why not, where
 * it cannot be done.
 */
export function installPostgres(): string | undefined {
  if (process.getuid?.() !== 0 || commandPath('apt-get') === null) return installDebianPackage('postgresql');
  const settings = join(DEBIAN_SETTINGS, 'darkroom-bench.conf');
  mkdirSync(DEBIAN_SETTINGS, { recursive: true });
  writeFileSync(settings, 'create_main_cluster = false\n');
  try {
    return installDebianPackage('postgresql');
  } finally {
    rmSync(settings);
  }
}

export interface PostgresServer {
  /** With the password. */
  readonly url: string;
  readonly server: OwnServer;
}

/**
 * Starts a PostgreSQL of the run's own with its default settings, in which an answer waits until the log is synced to
 * the disk. Throws `ServerAbsent` where there is none, or nobody it could run as: it refuses to run as root.
 */
export async function startPostgres(folder: string): Promise<PostgresServer> {
  const programs = findPostgres();
  if (programs === null) throw new ServerAbsent('PostgreSQL is not on this machine: run `npm run bench:install`.');
  const user = process.getuid?.() === 0 ? ownerOf(OWNER) : undefined;
  const [password, port] = [randomBytes(16).toString('hex'), await freePort()];
  const data = join(folder, 'data');
  makeDatabase(join(programs, 'initdb'), { folder, data, password, user });
  const ready = ['-h', '127.0.0.1', '-p', String(port), '-q'];
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    synchronous_commit: 'on',
  };
  const server = await OwnServer.start(
    {
      title: 'PostgreSQL',
      isReady: () =>
        promisify(execFile)(join(programs, 'pg_isready'), ready).then(
          () => true,
          () => false,
        ),
      // Without waiting for clients to leave.
      stopSignal: 'SIGINT',
    },
    {
      program: join(programs, 'postgres'),
      args: ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      environment: {},
      folder,
      endSignal: 'SIGTERM',
      ...(user ? { user } : {}),
    },
  );
  return { url: `postgres://${OWNER}:${password}@127.0.0.1:${port}/postgres`, server };
}

function ownerOf(name: string): SystemUser {
  try {
    const id = (option: '-u' | '-g') =>
      Number(execFileSync('id', [option, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    throw new ServerAbsent(
      `PostgreSQL does not run as root, and there is no user ${name}: run \`npm run bench:install\`.`,
    );
  }
}

function makeDatabase(
  initdb: string,
  {
    folder,
    data,
    password,
    user,
  }: {
    readonly folder: string;
    readonly data: string;
    readonly password: string;
    readonly user: SystemUser | undefined;
  },
): void {
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user) {
    // It may pass through the run's folder, and sees nothing of what else is there.
    chmodSync(dirname(folder), 0o711);
    for (const path of [folder, passwordFile]) chownSync(path, user.uid, user.gid);
  }
  const args = [
    '-D',
    data,
    '-U',
    OWNER,
    '--auth=scram-sha-256',
    `--pwfile=${passwordFile}`,
    '--encoding=UTF8',
    '--no-locale',
  ];
  try {
    execFileSync(initdb, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], ...user });
  } catch (error) {
    const { stderr = '' } = error as { readonly stderr?: Buffer | string };
    throw new ServerAbsent(`PostgreSQL cannot make a database: ${String(stderr).trim().split('\n').at(-1) ?? ''}`);
  }
  rmSync(passwordFile);
}
