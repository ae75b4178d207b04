import type { DescMethod, DescService } from '@bufbuild/protobuf';
import {
  logVerbosity,
  Server,
  ServerCredentials,
  type ServerOptions,
  setLogVerbosity,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { setMaxListeners } from 'node:events';
import type { Server as NetServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import { hostAndPort } from '../config/network-address.js';
import { MAX_BODY_BYTES } from '../http/host/http-context.js';
import { ACCESS_METHODS } from './access.js';
import { ActingFor, CallerRates, type ServiceCallers } from './callers.js';
import type { TokenCallers } from './token-callers.js';
import { CREDIT_METHODS } from './credits.js';
import { serviceDefinition } from './definitions.js';
import { GENERATION_METHODS, WATCH_METHODS } from './generations.js';
import { Health } from './health.js';
import type { Addressed, ServedMethod, ServedStream, UsedContext } from './method.js';
import { OPERATIONS_METHODS } from './operations.js';
import { PEOPLE_METHODS } from './people.js';
import { addReflection } from './reflection.js';
import {
  type CallObserver,
  CallsUnderWay,
  guardCalls,
  serveStream,
  serveUnary,
  type ServingCalls,
} from './serve-call.js';
import { CATALOG_METHODS, UPLOAD_METHODS } from './uploads-and-catalog.js';
import { WEBHOOK_METHODS } from './webhooks.js';

/** The library also writes to standard error when a port is in use, where only the log is expected. */
setLogVerbosity(logVerbosity.NONE);

export interface GrpcServerOptions extends Partial<Addressed> {
  readonly context: UsedContext;
  readonly callers: ServiceCallers;
  readonly logger: Logger;
  readonly credentials?: ServerCredentials;
  /** The maximum time from the start of a call until its request has arrived, in milliseconds; 10,000 by default. */
  readonly requestTimeoutMs?: number | undefined;
  /** Whether the health check reports serving while the process is not stopping; always if absent. */
  readonly isReady?: (() => Promise<boolean>) | undefined;
  /** Throws the refusal of a call that the stores could not serve anyway; if absent, all calls are tried. */
  readonly requireStores?: (() => void) | undefined;
  /** Accepts the OAuth tokens of connected programs; if absent, none are accepted. */
  readonly tokens?: TokenCallers | undefined;
  /** Notified of every call. */
  readonly observer?: CallObserver | undefined;
}

export interface GrpcServer {
  /** Port 0 selects any free port; returns the selected one. */
  listen(host: string, port: number): Promise<number>;
  /** Accepts no more calls, ends streams, finishes the other calls in progress, and aborts the rest after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

const METHODS: readonly ServedMethod[] = [
  ...GENERATION_METHODS,
  ...UPLOAD_METHODS,
  ...WEBHOOK_METHODS,
  ...CREDIT_METHODS,
  ...CATALOG_METHODS,
  ...ACCESS_METHODS,
  ...PEOPLE_METHODS,
  ...OPERATIONS_METHODS,
];
const STREAMS: readonly ServedStream[] = WATCH_METHODS;
/** The same limit as over REST. */
const REQUEST_TIMEOUT_MS = 10_000;

const pathOf = ({ method }: { readonly method: DescMethod }): string => `/${method.parent.typeName}/${method.name}`;
const PATHS = {
  open: new Set(METHODS.filter(({ scope }) => scope === undefined).map(pathOf)),
  closed: new Set([...METHODS.filter(({ scope }) => scope !== undefined), ...STREAMS].map(pathOf)),
};

const LIMITS: ServerOptions = {
  'grpc.max_receive_message_length': MAX_BODY_BYTES,
  // Concurrent calls on one connection; the client's library queues further calls.
  'grpc.max_concurrent_streams': 1_000,
  // Detects clients that vanished without closing, watchers too.
  'grpc.keepalive_time_ms': 60_000,
  'grpc.keepalive_timeout_ms': 20_000,
  'grpc.max_connection_idle_ms': 300_000,
  // Clients then reconnect to any process, also one that was added since, and their certificates are checked again.
  'grpc.max_connection_age_ms': 1_800_000,
  'grpc.max_connection_age_grace_ms': 600_000,
};

/** The gRPC front of one process. Nothing is listening before `listen`. */
export function createGrpcServer({
  context,
  callers,
  logger,
  observer,
  isReady,
  tokens,
  publicUrl = () => '',
  requireStores = () => undefined,
  requestTimeoutMs = REQUEST_TIMEOUT_MS,
  credentials = ServerCredentials.createInsecure(),
}: GrpcServerOptions): GrpcServer {
  const stopping = new AbortController();
  const underWay = new CallsUnderWay(observer);
  const parts: ServingCalls = {
    stopping: stopping.signal,
    observer: underWay,
    requireStores,
    context: { ...context, publicUrl, call: undefined },
    callers,
    rates: new CallerRates(),
    actingFor: new ActingFor(context),
    tokens,
    logger: logger.child({ front: 'grpc' }),
  };
  setMaxListeners(0, stopping.signal);
  const server = new Server({
    ...LIMITS,
    interceptors: [guardCalls({ ...PATHS, callers, clock: context.clock, requestTimeoutMs })],
  });
  const services = new Set<DescService>(METHODS.map(({ method }) => method.parent));
  for (const service of services) server.addService(serviceDefinition(service), implementation(service, parts));
  const names = [...services].map(({ typeName }) => typeName);
  const health = new Health(names);
  health.addTo(server);
  if (isReady !== undefined) health.follow(isReady);
  addReflection(server);
  return {
    async listen(host, port) {
      const bound = await listen(server, credentials, host, port);
      boundConnections(server, parts.logger);
      return bound;
    },
    close(graceMs) {
      health.stop();
      stopping.abort();
      return close(server, graceMs, underWay);
    },
  };
}

function implementation(service: DescService, parts: ServingCalls): UntypedServiceImplementation {
  const isOwn = ({ method }: { readonly method: DescMethod }): boolean => method.parent === service;
  return Object.fromEntries([
    ...METHODS.filter(isOwn).map((served) => [served.method.localName, serveUnary(served, parts)] as const),
    ...STREAMS.filter(isOwn).map((served) => [served.method.localName, serveStream(served, parts)] as const),
  ]);
}

function listen(server: Server, credentials: ServerCredentials, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(hostAndPort({ host, port }), credentials, (error, bound) => {
      if (error)
        reject(
          new Error(
            `The server cannot listen on port ${port} of ${host}, where something else may be listening; choose another grpc.port or grpc.host.`,
            { cause: error },
          ),
        );
      else resolve(bound);
    });
  });
}

/** The same limit as over REST. */
const MAX_CONNECTIONS = 10_000;

/**
 * Bounds the connections of a listening server, and logs those that TLS refuses: the library does neither, and does not
 * expose the servers that it has created. If an upgrade of the library renames them, this fails immediately.
 */
function boundConnections(server: Server, logger: Logger): void {
  const listening: unknown = Reflect.get(server, 'http2Servers');
  if (!(listening instanceof Map) || listening.size === 0)
    throw new Error('This version of the gRPC library stores its servers elsewhere.');
  for (const own of listening.keys() as Iterable<NetServer>) {
    own.maxConnections = MAX_CONNECTIONS;
    own.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
      logger.info({ code: error.code, reason: error.message, peer: socket.remoteAddress }, 'TLS refused');
    });
  }
}

/** Time to send the last response and the health of the services. */
const LAST_WORDS_MS = 100;

/**
 * Resolves once no call is in progress and none arrived while the last response was sent, because its request may
 * have been in flight.
 */
async function silence(underWay: CallsUnderWay): Promise<void> {
  do {
    await underWay.none();
    await sleep(LAST_WORDS_MS);
  } while (!underWay.isNone);
}

/**
 * Aborts the rest once no call to our methods is in progress: health watches and reflection streams last as long as
 * the server.
 */
async function close(server: Server, graceMs: number, underWay: CallsUnderWay): Promise<void> {
  const shut = new Promise<void>((resolve) => {
    server.tryShutdown(() => resolve());
  });
  const silent = new AbortController();
  await Promise.race([silence(underWay), sleep(graceMs, undefined, { signal: silent.signal }).catch(() => undefined)]);
  silent.abort();
  server.forceShutdown();
  await shut;
}
