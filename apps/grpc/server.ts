import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  logVerbosity,
  Server,
  ServerCredentials,
  setLogVerbosity,
  type ServerOptions,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { Logger } from 'pino';
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import type { Context } from '../../core/context.js';
import { MAX_BODY_BYTES } from '../http/host/limits.js';
import { ActingFor } from './callers/acting-for.js';
import { ACCESS_METHODS } from './methods/access.js';
import { PEOPLE_METHODS } from './methods/people.js';
import { STORAGE_METHODS } from './methods/storage.js';
import type { CallObserver } from './calls/call-observer.js';
import { CallerRates } from './callers/caller-rates.js';
import { CallsUnderWay } from './calls/calls-under-way.js';
import { boundConnections } from './connections.js';
import { CATALOG_METHODS } from './methods/catalog.js';
import { CREDIT_METHODS } from './methods/credits.js';
import { guardCalls } from './calls/guarded-call.js';
import { Health } from './health.js';
import { GENERATION_METHODS } from './methods/generations.js';
import { OPERATIONS_METHODS } from './methods/operations.js';
import { UPLOAD_METHODS } from './methods/uploads.js';
import { WEBHOOK_METHODS } from './methods/webhooks.js';
import { WATCH_METHODS } from './methods/watch.js';
import { reflectionOf } from './reflection.js';
import type { ServedMethod, ServedStream } from './method.js';
import { serveStream, serveUnary, type ServingCalls } from './calls/serve-call.js';
import { serviceDefinition } from './service-definition.js';
import type { TokenCallers } from './callers/token-callers.js';
import type { ServiceCallers } from './callers/service-callers.js';

export interface GrpcServerOptions {
  readonly context: Context;
  readonly callers: ServiceCallers;
  readonly logger: Logger;
  readonly credentials?: ServerCredentials;
  /** How long a request may take to arrive after its call has begun, in milliseconds; 10,000 by default. */
  readonly requestTimeoutMs?: number | undefined;
  /** Whether the health reports serving while the process is not stopping; always, when absent. */
  readonly isReady?: (() => Promise<boolean>) | undefined;
  /** Throws what refuses a call that the stores could not answer anyway; absent, all are tried. */
  readonly requireStores?: (() => void) | undefined;
  /** Takes the OAuth tokens of connected programs; absent, none are taken. */
  readonly tokens?: TokenCallers | undefined;
  /** Told of every call. */
  readonly observer?: CallObserver | undefined;
}

export interface GrpcServer {
  /** Port 0 takes any free one; answers the one taken. */
  listen(host: string, port: number): Promise<number>;
  /** Accepts no more calls, ends streams, finishes the other calls in progress, and aborts the rest after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

const METHODS = [
  ...GENERATION_METHODS,
  ...UPLOAD_METHODS,
  ...WEBHOOK_METHODS,
  ...CREDIT_METHODS,
  ...CATALOG_METHODS,
  ...ACCESS_METHODS,
  ...PEOPLE_METHODS,
  ...STORAGE_METHODS,
  ...OPERATIONS_METHODS,
] as unknown as readonly ServedMethod[];
/** What the last call was answered, and how the services are, has to leave first. */
const LAST_WORDS_MS = 100;
/** As over REST. */
const REQUEST_TIMEOUT_MS = 10_000;
const STREAMS = WATCH_METHODS as unknown as readonly ServedStream[];

const pathOf = ({ method }: { readonly method: DescMethod }): string => `/${method.parent.typeName}/${method.name}`;
const PATHS = {
  open: new Set(METHODS.filter(({ scope }) => scope === undefined).map(pathOf)),
  closed: new Set([...METHODS.filter(({ scope }) => scope !== undefined), ...STREAMS].map(pathOf)),
};

const LIMITS: ServerOptions = {
  'grpc.max_receive_message_length': MAX_BODY_BYTES,
  // Concurrent calls on one connection; the client's library makes others wait.
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
    context: { ...context, call: undefined },
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
  reflectionOf(services).addToServer(server);
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

/** The library writes of a port that is taken to standard error as well, where the log is expected and nothing else. */
setLogVerbosity(logVerbosity.NONE);

function listen(server: Server, credentials: ServerCredentials, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`${host.includes(':') ? `[${host}]` : host}:${port}`, credentials, (error, bound) => {
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

/**
 * Until no call of ours is in progress, and none arrived while the last answer was sent: its request may have been in
 * flight.
 */
async function silence(underWay: CallsUnderWay): Promise<void> {
  do {
    await underWay.none();
    await sleep(LAST_WORDS_MS);
  } while (!underWay.isNone);
}

/**
 * Once no call of ours is in progress the rest is aborted: watches of the health and streams of the reflection last as
 * long as the server.
 */
async function close(server: Server, graceMs: number, underWay: CallsUnderWay): Promise<void> {
  const shut = new Promise<void>((resolve) => {
    server.tryShutdown(() => resolve());
  });
  let cancel: () => void = () => undefined;
  const late = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, graceMs);
    cancel = () => clearTimeout(timer);
  });
  await Promise.race([silence(underWay), late]);
  cancel();
  server.forceShutdown();
  await shut;
}
