import { setTimeout as sleep } from 'node:timers/promises';
import { Server, ServerCredentials, type ServerOptions, type UntypedServiceImplementation } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import type { Logger } from 'pino';
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import type { Context } from '../../core/context.js';
import { MAX_BODY_BYTES } from '../rest/limits.js';
import { ActingFor } from './acting-for.js';
import { ACCESS_METHODS } from './methods/access.js';
import type { CallObserver } from './call-observer.js';
import { CallerRates } from './caller-rates.js';
import { CallsUnderWay } from './calls-under-way.js';
import { CATALOG_METHODS } from './methods/catalog.js';
import { CREDIT_METHODS } from './methods/credits.js';
import { GENERATION_METHODS } from './methods/generations.js';
import { OPERATIONS_METHODS } from './methods/operations.js';
import { UPLOAD_METHODS } from './methods/uploads.js';
import { WATCH_METHODS } from './methods/watch.js';
import { reflectionOf } from './reflection.js';
import type { ServedMethod, ServedStream } from './method.js';
import { serveStream, serveUnary, type ServingCalls } from './serve-call.js';
import { serviceDefinition } from './service-definition.js';
import type { ServiceCallers } from './service-callers.js';

export interface GrpcServerOptions {
  readonly context: Context;
  readonly callers: ServiceCallers;
  readonly logger: Logger;
  readonly credentials?: ServerCredentials;
  /** Told of every call. */
  readonly observer?: CallObserver | undefined;
}

export interface GrpcServer {
  /** Port 0 takes any free one; answers the one taken. */
  listen(host: string, port: number): Promise<number>;
  /** Takes no more calls, ends streams, finishes the other calls under way, and cuts what is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

const METHODS = [...GENERATION_METHODS, ...UPLOAD_METHODS, ...CREDIT_METHODS, ...CATALOG_METHODS, ...ACCESS_METHODS, ...OPERATIONS_METHODS] as unknown as readonly ServedMethod[];
/** What the last call was answered, and how the services are, has to leave first. */
const LAST_WORDS_MS = 100;
const STREAMS = WATCH_METHODS as unknown as readonly ServedStream[];

const LIMITS: ServerOptions = {
  'grpc.max_receive_message_length': MAX_BODY_BYTES,
  // Calls at once on one connection; the client's library makes others wait.
  'grpc.max_concurrent_streams': 1_000,
  // Whoever went without a word is noticed, those who only watch too.
  'grpc.keepalive_time_ms': 60_000,
  'grpc.keepalive_timeout_ms': 20_000,
  'grpc.max_connection_idle_ms': 300_000,
  // Clients then come back to any process, also one that was added since, and their certificates are looked at again.
  'grpc.max_connection_age_ms': 1_800_000,
  'grpc.max_connection_age_grace_ms': 600_000,
};

/** The gRPC front of one process. Nothing is listening before `listen`. */
export function createGrpcServer({ context, callers, logger, observer, credentials = ServerCredentials.createInsecure() }: GrpcServerOptions): GrpcServer {
  const stopping = new AbortController();
  const underWay = new CallsUnderWay(observer);
  const parts: ServingCalls = {
    stopping: stopping.signal, observer: underWay, context: { ...context, call: undefined }, callers,
    rates: new CallerRates(), actingFor: new ActingFor(context), logger: logger.child({ front: 'grpc' }),
  };
  const server = new Server(LIMITS);
  const services = new Set<DescService>(METHODS.map(({ method }) => method.parent));
  for (const service of services) server.addService(serviceDefinition(service), implementation(service, parts));
  const names = [...services].map(({ typeName }) => typeName);
  const health = new HealthImplementation({ '': 'SERVING', ...Object.fromEntries(names.map((name) => [name, 'SERVING'] as const)) });
  health.addToServer(server);
  reflectionOf(services).addToServer(server);
  return {
    listen: (host, port) => listen(server, credentials, host, port),
    close(graceMs) {
      for (const name of ['', ...names]) health.setStatus(name, 'NOT_SERVING');
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
    server.bindAsync(`${host.includes(':') ? `[${host}]` : host}:${port}`, credentials, (error, bound) => {
      if (error) reject(new Error(`The server cannot listen on port ${port} of ${host}; choose another grpc.port or grpc.host.`, { cause: error }));
      else resolve(bound);
    });
  });
}

/**
 * Once no call of ours is under way the rest is cut: who watches the health, or holds a stream of the reflection open, does so
 * for as long as there is a server.
 */
async function close(server: Server, graceMs: number, underWay: CallsUnderWay): Promise<void> {
  const shut = new Promise<void>((resolve) => { server.tryShutdown(() => resolve()); });
  let cancel: () => void = () => undefined;
  const late = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, graceMs);
    cancel = () => clearTimeout(timer);
  });
  await Promise.race([underWay.none().then(() => sleep(LAST_WORDS_MS)), late]);
  cancel();
  server.forceShutdown();
  await shut;
}
