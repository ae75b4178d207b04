import {
  type DescFile,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type Message,
  toBinary,
} from '@bufbuild/protobuf';
import { configureTextEncoding, getTextEncoding } from '@bufbuild/protobuf/wire';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import {
  logVerbosity,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerOptions,
  type ServiceDefinition,
  setLogVerbosity,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { HealthImplementation, service as healthService } from 'grpc-health-check';
import { setMaxListeners } from 'node:events';
import type { Server as NetServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import type { Context } from '../../core/context.js';
import { type ErrorCode, ServiceError } from '../../core/errors.js';
import { MAX_BODY_BYTES, MAX_BODY_NODES } from '../http/host/http-context.js';
import { singleFlight } from '../readiness.js';
import { ACCESS_METHODS } from './access.js';
import { ActingFor, CallerRates, type ServiceCallers } from './callers.js';
import type { TokenCallers } from './callers/token-callers.js';
import { bytesFault, withByteSize } from './calls/request-bytes.js';
import { CREDIT_METHODS } from './credits.js';
import { file_google_rpc_error_details } from './generated/google/rpc/error_details_pb.js';
import { GENERATION_METHODS, keptBytes, WATCH_METHODS } from './generations.js';
import type { ServedMethod, ServedStream } from './method.js';
import { OPERATIONS_METHODS } from './operations.js';
import { PEOPLE_METHODS } from './people.js';
import {
  type CallObserver,
  CallsUnderWay,
  guardCalls,
  RefusedRequest,
  serveStream,
  serveUnary,
  type ServingCalls,
} from './serve-call.js';
import { CATALOG_METHODS, UPLOAD_METHODS } from './uploads-and-catalog.js';
import { WEBHOOK_METHODS } from './webhooks.js';

/** As many as over REST. */
const MAX_CONNECTIONS = 10_000;

/**
 * Bounds the connections of a listening server, and logs those that TLS refuses: the library does neither, and does not
 * expose the servers that it has created. If an upgrade of the library renames them, this fails immediately.
 */
export function boundConnections(server: Server, logger: Logger): void {
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

/** How often it is asked whether the process is ready, and how long that may take. */
const LOOK_EVERY_MS = 3_000;
const ANSWER_WITHIN_MS = 2_500;

/** The label of every unknown name: names invented by callers are neither stored nor repeated. */
const UNKNOWN = 'unknown';

/** `grpc.health.v1.Health` for the whole front, whose name is empty, and for each of its services. */
export class Health {
  private readonly names: readonly string[];
  private readonly implementation: HealthImplementation;
  private looking: NodeJS.Timeout | undefined;
  private isServing = true;

  constructor(services: readonly string[]) {
    this.names = ['', ...services];
    this.implementation = new HealthImplementation(
      Object.fromEntries(this.names.map((name) => [name, 'SERVING'] as const)),
    );
  }

  addTo(server: Server): void {
    const knownOnly = {
      addService: (service: ServiceDefinition, serving: Parameters<Server['addService']>[1]) =>
        server.addService(this.withKnownNames(service), serving),
    };
    this.implementation.addToServer(knownOnly);
  }

  /** Says `NOT_SERVING` while the process is not ready, until `stop`. */
  follow(isReady: () => Promise<boolean>, everyMs = LOOK_EVERY_MS): void {
    const ask = singleFlight(isReady, ANSWER_WITHIN_MS);
    const look = async (): Promise<void> => {
      const isServing = await ask().catch(() => false);
      if (this.looking !== undefined) this.say(isServing);
    };
    this.looking = setInterval(() => void look(), everyMs).unref();
  }

  /** Says `NOT_SERVING` from now on. */
  stop(): void {
    clearInterval(this.looking);
    this.looking = undefined;
    this.say(false);
  }

  private say(isServing: boolean): void {
    if (isServing === this.isServing) return;
    this.isServing = isServing;
    for (const name of this.names) this.implementation.setStatus(name, isServing ? 'SERVING' : 'NOT_SERVING');
  }

  private withKnownNames(service: ServiceDefinition): ServiceDefinition {
    return Object.fromEntries(
      Object.entries(service).map(([name, method]) => [
        name,
        {
          ...method,
          requestDeserialize: (bytes: Buffer): unknown => {
            const asked = method.requestDeserialize(bytes) as { readonly service?: string };
            return asked.service === undefined || this.names.includes(asked.service) ? asked : { service: UNKNOWN };
          },
        },
      ]),
    );
  }
}

/** What tools ask to learn the services and their messages without the proto files: they are in the program already. */
export function reflectionOf(services: Iterable<DescService>): ReflectionService {
  const files = new Map<string, Buffer>();
  for (const { file } of services) collect(file, files);
  // No service names these; tools ask for them when they show the details of a refusal.
  collect(file_google_rpc_error_details, files);
  const { Check: health } = healthService;
  if (health === undefined) throw new Error('The health service has no Check.');
  const { fileDescriptorProtos } = health.requestType as MessageTypeDefinition<object, object>;
  return new ReflectionService({
    darkroom: {
      format: 'Protocol Buffer 3 DescriptorProto',
      type: {},
      fileDescriptorProtos: [...files.values(), ...fileDescriptorProtos],
    },
  });
}

/** A file after all that it needs. */
function collect(file: DescFile, files: Map<string, Buffer>): void {
  if (files.has(file.name)) return;
  for (const needed of file.dependencies) collect(needed, files);
  files.set(file.name, Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)));
}

const TEXT = new TextDecoder('utf-8', { ignoreBOM: true });
const STRICT_TEXT = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

/**
 * Left to itself the library takes a byte order mark off the beginning of every text, and a prompt would not be what
 * was sent.
 */
configureTextEncoding({
  ...getTextEncoding(),
  decodeUtf8: (bytes, strict) => (strict === true ? STRICT_TEXT : TEXT).decode(bytes),
});

/** A service of the proto files as the gRPC library wants it of a server: paths, and how messages become bytes. */
export function serviceDefinition(service: DescService): ServiceDefinition {
  return Object.fromEntries(
    service.methods.map((method) => [
      method.localName,
      {
        ...methodDefinition(method),
        requestDeserialize: (bytes: Buffer) => requestOf(method, bytes),
        responseSerialize: (message: Message) => bytesOf(keptBytes(message) ?? toBinary(method.output, message)),
      },
    ]),
  );
}

export function methodDefinition(method: DescMethod): MethodDefinition<Message, Message> {
  const { input, output, methodKind } = method;
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
    responseStream: methodKind === 'server_streaming' || methodKind === 'bidi_streaming',
    requestSerialize: (message) => bytesOf(toBinary(input, message)),
    requestDeserialize: (bytes) => fromBinary(input, bytes),
    responseSerialize: (message) => bytesOf(toBinary(output, message)),
    responseDeserialize: (bytes) => fromBinary(output, bytes),
  };
}

/**
 * A member of an object is four fields on the wire, and an item of a list two: what a body may hold has room in these.
 */
const MAX_FIELDS = 2 * MAX_BODY_NODES + 100;

/**
 * What is no such message is refused as everything is, with its code and in the log: the library alone would say
 * little.
 */
function requestOf({ input }: DescMethod, bytes: Buffer): Message | RefusedRequest {
  return withByteSize(checked(input, bytes), bytes.byteLength);
}

function checked(input: DescMessage, bytes: Buffer): Message | RefusedRequest {
  switch (bytesFault(input, bytes, MAX_FIELDS)) {
    case 'too many fields':
      return refused('BODY_INVALID', `The request must hold at most ${MAX_BODY_NODES} names and values.`);
    case 'malformed':
      return notOf(input);
    // Over REST it is an unknown field as well.
    case 'a member named __proto__':
      return refused('FIELD_INVALID', 'unknown field "__proto__": no member of an object may have this name.');
    case undefined:
      return decoded(input, bytes);
  }
}

function decoded(input: DescMessage, bytes: Buffer): Message | RefusedRequest {
  try {
    return fromBinary(input, bytes);
  } catch {
    return notOf(input);
  }
}

function notOf({ typeName }: DescMessage): RefusedRequest {
  return refused('BODY_INVALID', `The request is no ${typeName}, or is nested too deep.`);
}

function refused(code: ErrorCode, message: string): RefusedRequest {
  return new RefusedRequest(new ServiceError(code, message));
}

/** The same bytes, not a copy of them. */
function bytesOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

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
