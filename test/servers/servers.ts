import {
  isCogReady,
  isMongoReady,
  isPostgresReady,
  isS3Ready,
  isSdServerReady,
  isToxiproxyReady,
  type S3Keys,
} from './readiness.js';
import { PROGRAMS, type Program } from './programs.js';
import { ServerAbsent } from './server-absent.js';
import { REGION, SERVER_KINDS, type ServerKind } from './server-kinds.js';
import { ServerProcess } from './server-process.js';

export { orSkip, ServerAbsent } from './server-absent.js';

export interface MongoServer {
  readonly url: string;
}

/** PostgreSQL, with the URL of a user who may create databases. */
export interface PostgresServer {
  readonly url: string;
}

export interface S3Server extends S3Keys {
  readonly endpoint: string;
  readonly region: string;
}

/** A server of HTTP. */
export interface UrlServer {
  /** Without a path. */
  readonly url: string;
}
export type ToxiproxyServer = UrlServer;
export type SdServer = UrlServer;
export type CogServer = UrlServer;

/** The environment variables that name an existing server. */
export const VARIABLES = {
  'mongo-replica-set': 'TEST_MONGO_URL',
  'mongo-standalone': 'TEST_MONGO_STANDALONE_URL',
  'postgres-18': 'TEST_POSTGRES_URL',
  'postgres-15': 'TEST_POSTGRES_15_URL',
  'minio': 'TEST_MINIO_URL',
  'versitygw': 'TEST_VERSITYGW_URL',
  'toxiproxy': 'TEST_TOXIPROXY_URL',
  'sd-server': 'TEST_SD_SERVER_URL',
  'cog': 'TEST_COG_URL',
} as const satisfies Readonly<Record<Exclude<ServerKind, 'nginx' | 'pgbouncer'>, string>>;

/** The kinds of which all tests of a process share one server. An nginx or PgBouncer is configured for its test. */
type SharedKind = keyof typeof VARIABLES;

/**
 * MongoDB for this process's tests: the one that the environment names, else one that lives as long as this process.
 */
export function mongoServer(kind: 'replica-set' | 'standalone'): Promise<MongoServer> {
  return once(mongoServers, `mongo-${kind}`, {
    named: async (url) => ({ server: { url }, isReady: () => isMongoReady(url, null) }),
    own: ({ url }) => ({ url }),
  });
}

/** PostgreSQL of this major version, started or found in the same way. */
export function postgresServer(version: '18' | '15'): Promise<PostgresServer> {
  return urlServer(`postgres-${version}`, (url) => isPostgresReady(url));
}

/** An object store for this process's tests, in the same way. */
export function s3Server(kind: 'minio' | 'versitygw'): Promise<S3Server> {
  return once(s3Servers, kind, {
    named: async (url) => {
      const server = s3From(VARIABLES[kind], url);
      return { server, isReady: () => isS3Ready(server.endpoint, server.region, server) };
    },
    own: ({ s3 }) => s3,
  });
}

/** A TCP proxy for this process's tests, in the same way. */
export function toxiproxyServer(): Promise<ToxiproxyServer> {
  return urlServer('toxiproxy', isToxiproxyReady);
}

/**
 * The server of stable-diffusion.cpp for this process's tests, in the same way. Its own one has a model of zeros, which
 * makes a picture of 64 by 64 pixels in a second.
 */
export function sdServer(): Promise<SdServer> {
  return urlServer('sd-server', isSdServerReady);
}

/** A container of Cog with the model of test/servers/cog, for this process's tests, in the same way. */
export function cogServer(): Promise<CogServer> {
  return urlServer('cog', isCogReady);
}

const mongoServers = new Map<SharedKind, Promise<MongoServer>>();
const s3Servers = new Map<SharedKind, Promise<S3Server>>();
const urlServers = new Map<SharedKind, Promise<UrlServer>>();

function urlServer(kind: SharedKind, isReady: (url: string) => Promise<boolean>): Promise<UrlServer> {
  return once(urlServers, kind, {
    named: async (text) => {
      const url = text.replace(/\/+$/, '');
      return { server: { url }, isReady: () => isReady(url) };
    },
    own: ({ url }) => ({ url }),
  });
}

interface Ways<T> {
  readonly named: (url: string) => Promise<{ readonly server: T; readonly isReady: () => Promise<boolean> }>;
  readonly own: (server: ServerProcess) => T;
}

function once<T>(known: Map<SharedKind, Promise<T>>, kind: SharedKind, ways: Ways<T>): Promise<T> {
  const server = known.get(kind) ?? found(kind, ways);
  known.set(kind, server);
  return server;
}

async function found<T>(kind: SharedKind, { named, own }: Ways<T>): Promise<T> {
  const variable = VARIABLES[kind];
  const url = process.env[variable];
  if (url === undefined || url === '') return own(await startedFor(kind));
  const { server, isReady } = await named(url);
  try {
    if (await isReady()) return server;
  } catch (error) {
    throw new Error(
      `The server that ${variable} names cannot be used: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
  throw new Error(`The server that ${variable} names takes no writes.`);
}

async function startedFor(kind: SharedKind): Promise<ServerProcess> {
  try {
    return await ServerProcess.start(kind);
  } catch (error) {
    if (!(error instanceof ServerAbsent)) throw error;
    const program: Program = PROGRAMS[SERVER_KINDS[kind].program];
    throw new ServerAbsent(
      `${program.title} is not on this machine: run \`npm run servers:install\`, or set ${VARIABLES[kind]}.`,
    );
  }
}

/** `http://access:secret@host:port`; another region than us-east-1 follows as `?region=`. */
function s3From(variable: string, text: string): S3Server {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.username === '' || url.password === '') {
    throw new Error(`${variable} must have the form http://access:secret@host:port.`);
  }
  const region = url.searchParams.get('region') ?? REGION;
  return {
    endpoint: url.origin,
    region,
    accessKey: decodeURIComponent(url.username),
    secretKey: decodeURIComponent(url.password),
  };
}
