import { copyFileSync, writeFileSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dataOf, type KindOfServer, type Settings } from './kind-of-server.js';
import { nginxConfiguration } from './nginx-configuration.js';
import { pgbouncerConfiguration } from './pgbouncer-configuration.js';
import { postgres, postgresUrl } from './postgres.js';
import { interpreterOf } from './python-environment.js';
import {
  isCogReady,
  isMongoReady,
  isNginxReady,
  isPostgresReady,
  isS3Ready,
  isSdServerReady,
  isToxiproxyReady,
} from './readiness.js';
import { writeZeroCheckpoint } from './zero-checkpoint.js';

export type ServerKind =
  | 'mongo-replica-set'
  | 'mongo-standalone'
  | 'postgres-18'
  | 'postgres-15'
  | 'pgbouncer'
  | 'minio'
  | 'versitygw'
  | 'toxiproxy'
  | 'sd-server'
  | 'cog'
  | 'nginx';

export const REGION = 'us-east-1';
const REPLICA_SET = 'darkroom';

const COG_MODEL = fileURLToPath(new URL('../../../test/servers/cog/predict.py', import.meta.url));

export const SERVER_KINDS: Readonly<Record<ServerKind, KindOfServer>> = {
  'mongo-replica-set': mongo({ replicaSet: REPLICA_SET }),
  'mongo-standalone': mongo({ replicaSet: null }),
  'postgres-18': postgres('postgres-18'),
  'postgres-15': postgres('postgres-15'),
  'pgbouncer': {
    program: 'pgbouncer',
    prepare: (settings) => {
      const users = join(settings.folder, 'users');
      writeFileSync(users, '"postgres" ""\n');
      writeFileSync(join(settings.folder, 'pgbouncer.ini'), pgbouncerConfiguration(settings, users));
    },
    args: ({ folder }) => [join(folder, 'pgbouncer.ini')],
    url: (port) => postgresUrl(port),
    isReady: ({ port }) => isPostgresReady(postgresUrl(port, 'pgbouncer'), 'SHOW VERSION'),
  },
  'minio': {
    program: 'minio',
    args: (settings) => [
      'server',
      dataOf(settings),
      '--address',
      `127.0.0.1:${settings.port}`,
      '--certs-dir',
      join(settings.folder, 'certs'),
      '--quiet',
    ],
    environment: ({ accessKey, secretKey }) => ({
      MINIO_ROOT_USER: accessKey,
      MINIO_ROOT_PASSWORD: secretKey,
      MINIO_REGION_NAME: REGION,
      MINIO_BROWSER: 'off',
      MINIO_UPDATE: 'off',
    }),
    url: httpUrl,
    isReady: (settings) => isS3Ready(httpUrl(settings.port), REGION, settings),
  },
  'versitygw': {
    program: 'versitygw',
    args: (settings) => [
      '--port',
      `127.0.0.1:${settings.port}`,
      '--region',
      REGION,
      '--quiet',
      'posix',
      dataOf(settings),
    ],
    environment: ({ accessKey, secretKey }) => ({ ROOT_ACCESS_KEY: accessKey, ROOT_SECRET_KEY: secretKey }),
    url: httpUrl,
    isReady: (settings) => isS3Ready(httpUrl(settings.port), REGION, settings),
  },
  'toxiproxy': {
    program: 'toxiproxy',
    args: ({ port }) => ['-host', '127.0.0.1', '-port', String(port)],
    environment: () => ({ LOG_LEVEL: 'warn' }),
    url: httpUrl,
    isReady: ({ port }) => isToxiproxyReady(httpUrl(port)),
  },
  'sd-server': {
    program: 'sd-server',
    prepare: (settings) => writeZeroCheckpoint(checkpointOf(settings)),
    args: (settings) => [
      '--model',
      checkpointOf(settings),
      '--listen-ip',
      '127.0.0.1',
      '--listen-port',
      String(settings.port),
      // More wait for each other in loops, which takes ten times as long where other tests run.
      '--threads',
      '1',
    ],
    url: httpUrl,
    isReady: ({ port }) => isSdServerReady(httpUrl(port)),
  },
  'cog': {
    program: 'cog',
    prepare: ({ folder }) => copyFileSync(COG_MODEL, join(folder, basename(COG_MODEL))),
    command: interpreterOf,
    args: () => ['-m', 'cog.server.http', '--host', '127.0.0.1'],
    environment: ({ port }, found) => ({
      COG_PREDICT_TYPE_STUB: `${basename(COG_MODEL)}:Predictor`,
      PORT: String(port),
      // It starts another interpreter by name.
      PATH: [dirname(interpreterOf(found)), process.env['PATH'] ?? ''].join(delimiter),
    }),
    url: httpUrl,
    isReady: ({ port }) => isCogReady(httpUrl(port)),
  },
  'nginx': {
    program: 'nginx',
    prepare: (settings) => writeFileSync(join(settings.folder, 'nginx.conf'), nginxConfiguration(settings)),
    args: ({ folder }) => ['-e', 'stderr', '-p', folder, '-c', 'nginx.conf'],
    url: httpUrl,
    isReady: ({ port }) => isNginxReady(httpUrl(port)),
  },
};

function checkpointOf(settings: Settings): string {
  return join(dataOf(settings), 'zero.safetensors');
}

function mongo({ replicaSet }: { readonly replicaSet: string | null }): KindOfServer {
  return {
    program: 'mongo',
    args: (settings, { isMongod }) =>
      isMongod ? mongodArgs(settings, replicaSet) : secantusArgs(settings, replicaSet),
    url: mongoUrl,
    isReady: ({ port }, { isMongod }) =>
      isMongoReady(
        mongoUrl(port),
        isMongod && replicaSet !== null ? { replicaSet, member: `127.0.0.1:${port}` } : null,
      ),
  };
}

function mongodArgs(settings: Settings, replicaSet: string | null): string[] {
  const common = [
    '--dbpath',
    dataOf(settings),
    '--port',
    String(settings.port),
    '--bind_ip',
    '127.0.0.1',
    '--wiredTigerCacheSizeGB',
    '0.5',
    '--quiet',
    '--nounixsocket',
  ];
  return replicaSet === null ? common : [...common, '--replSet', replicaSet];
}

function secantusArgs(settings: Settings, replicaSet: string | null): string[] {
  const common = [
    '--port',
    String(settings.port),
    '--storage-path',
    dataOf(settings),
    ...(settings.isSynced ? ['--sync-on-commit'] : []),
    '--cache-size',
    '512M',
    '--log-level',
    'WARNING',
    // Its start reads a whole log file, whose default of 2 GB takes ten seconds and more.
    '--log-file-max',
    '64MB',
  ];
  return replicaSet === null ? [...common, '--standalone'] : common;
}

function mongoUrl(port: number): string {
  return `mongodb://127.0.0.1:${port}/?directConnection=true`;
}

function httpUrl(port: number): string {
  return `http://127.0.0.1:${port}`;
}
