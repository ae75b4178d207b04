import {
  Client,
  type ClientReadableStream,
  credentials,
  type GrpcObject,
  loadPackageDefinition,
  Metadata,
  Server,
  type ServiceClientConstructor,
  type ServiceError,
  status as Status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { expect } from 'chai';
import { HealthImplementation, service as healthService, service } from 'grpc-health-check';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { Access } from '../../../apps/grpc/generated/darkroom/v1/access_pb.js';
import { Credits } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { Generations } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { ErrorInfoSchema, RetryInfoSchema } from '../../../apps/grpc/generated/google/rpc/error_details_pb.js';
import { Health } from '../../../apps/grpc/health.js';
import { createGrpcServer, type GrpcServer } from '../../../apps/grpc/server.js';
import { SCOPES } from '../../../core/access/credential.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { intercepted } from '../../fixtures/intercepted.js';
import { newOwner } from '../../fixtures/memory-stores.js';
import { openServiceHarness, type ServiceHarness } from '../../harness/service-harness.js';
import { bound } from '../cli/grpc-service.js';
import { detail, errorOf, GrpcHarness, PICTURE, refusalOf } from './grpc-harness.js';
import { frame, openSession, RawCall } from './raw-call.js';

// Goal: the gRPC server itself: unavailable stores, stopping, texts and messages beyond bounds, ports that are taken.
// Method: a server over its own harness, whose stores fail or wait, and the library's own client.

describe('a gRPC server', () => {
  it('answers UNAVAILABLE while a store is unavailable, with the time to try again', async () => {
    const grpc = await GrpcHarness.open({
      around: (ports) => ({
        ...ports,
        generations: intercepted('generations', ports.generations, () =>
          Promise.reject(new StoreUnavailable('The line broke.')),
        ),
      }),
    });
    const error = await errorOf(
      grpc.call(Generations.method.getGeneration, { generationId: grpc.owner.appId }, 'reader'),
    );
    expect(refusalOf(error)).to.deep.equal([Status.UNAVAILABLE, 'SERVICE_UNAVAILABLE']);
    expect(detail(error, RetryInfoSchema)?.retryDelay?.seconds).to.equal(2n);
    expect(error.details, 'what broke is our own affair').not.to.include('line');
    await grpc.close();
  });

  it('finishes the calls in progress when it is asked to stop', async () => {
    let reached: () => void = () => undefined;
    let release: () => void = () => undefined;
    const isReached = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    const grpc = await GrpcHarness.open({
      around: (ports) => ({
        ...ports,
        generations: intercepted('generations', ports.generations, async (call) => {
          reached();
          await isReleased;
          return call.proceed();
        }),
      }),
    });
    const asked = errorOf(grpc.call(Generations.method.getGeneration, { generationId: grpc.owner.appId }, 'reader'));
    await isReached;
    const closed = grpc.server.close(60_000);
    release();
    expect((await asked).code).to.equal(Status.NOT_FOUND);
    grpc.client.close();
    await closed;
    await grpc.harness.close();
  });

  it('ends watches when it is asked to stop, as they could last long', async () => {
    const grpc = await GrpcHarness.open();
    const stream = grpc.watch(await grpc.picture('watched'), grpc.as('reader'));
    let closed: Promise<void> | undefined;
    const error = await errorOf(
      (async () => {
        for await (const _ of stream) closed ??= grpc.server.close(3_600_000);
      })(),
    );
    expect(refusalOf(error)).to.deep.equal([Status.UNAVAILABLE, 'SERVICE_UNAVAILABLE']);
    expect(detail(error, RetryInfoSchema)?.retryDelay?.seconds).to.equal(1n);
    grpc.client.close();
    await closed;
    await grpc.harness.close();
  });

  it('reports the fault of a name as long as a message may be, and serves the other calls of the connection', async () => {
    const grpc = await GrpcHarness.open();
    for (const name of ['n'.repeat(100_000), '\u{1f3a8}'.repeat(20_000)]) {
      const input = { ...PICTURE, parameters: { [name]: 1, other: '\0' } };
      const refused = errorOf(grpc.call(Generations.method.estimateGeneration, { input }));
      const beside = grpc.call(Credits.method.getBalance, {});
      expect(detail(await refused, ErrorInfoSchema)?.reason).to.equal('FIELD_INVALID');
      expect((await beside).availableCredits).to.equal(1_000n);
    }
    expect((await grpc.call(Credits.method.getBalance, {})).currency).to.equal('credits');
    await grpc.close();
  });

  it('refuses invalid times, and texts that a store would truncate', async () => {
    const grpc = await GrpcHarness.open();
    const metadata = grpc.as('all', {});
    const key = (seconds: bigint, nanos = 0) =>
      grpc.call(
        Access.method.createApiKey,
        { appId: grpc.owner.appId, displayName: 'key', scopes: ['credits:read'], expireTime: { seconds, nanos } },
        metadata,
      );
    for (const asked of [key(253_402_300_800n), key(2n ** 63n - 1n), key(-1n), key(10_000_000_000n, -1)])
      expect((await errorOf(asked)).code).to.equal(Status.INVALID_ARGUMENT);
    expect((await key(253_402_300_799n)).apiKey?.expireTime?.seconds).to.equal(253_402_300_799n);
    const grant = (operationId: string, reason: string) =>
      grpc.call(
        Credits.method.grantCredits,
        { accountId: grpc.owner.accountId, operationId, credits: 1n, reason },
        metadata,
      );
    for (const asked of [grant('a\0b', 'fine'), grant('a', 'b\0c')])
      expect((await errorOf(asked)).code).to.equal(Status.INVALID_ARGUMENT);
    await grpc.close();
  });

  it('does not wait for watchers of its health, and tells them that it stops', async () => {
    const grpc = await GrpcHarness.open();
    const watch = healthService['Watch'];
    if (watch === undefined) throw new Error('The health service has no watch.');
    const { path, requestSerialize, responseDeserialize } = watch;
    const stream = grpc.client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, {
      service: 'darkroom.v1.Generations',
    });
    const told: string[] = [];
    let closed: Promise<void> | undefined;
    const seen = (async () => {
      for await (const { status } of stream as AsyncIterable<{ status: string }>) {
        told.push(status);
        closed ??= grpc.server.close(3_600_000);
      }
    })().catch(() => undefined);
    await seen;
    await closed;
    expect(told).to.deep.equal(['SERVING', 'NOT_SERVING']);
    grpc.client.close();
    await grpc.harness.close();
  });

  it('refuses a message that is too large, whatever its content', async () => {
    const grpc = await GrpcHarness.open();
    const error = await errorOf(
      grpc.call(Generations.method.createGeneration, { input: { prompt: 'x'.repeat(1 << 20) } }),
    );
    expect(error.code).to.equal(Status.RESOURCE_EXHAUSTED);
    await grpc.close();
  });

  it('reports in one sentence that a port is taken', async () => {
    const grpc = await GrpcHarness.open();
    const other = createGrpcServer({
      context: grpc.harness.context,
      callers: { find: () => undefined },
      logger: pino({ level: 'silent' }),
    });
    const taken = grpc.port;
    const refused: unknown = await other.listen('127.0.0.1', taken).catch((error: unknown) => error);
    expect(refused)
      .to.be.instanceOf(Error)
      .with.property('message')
      .that.includes(`port ${taken} of 127.0.0.1`)
      .and.includes('grpc.port');
    await other.close(0);
    await grpc.close();
  });
});

// Goal: tools that know only the address find the services and their messages, and learn whether they are served; a
// client that another toolchain makes from the proto files works.
// Method: reflection and health are queried by clients made from their own proto files; the client of docs/grpc.md is
// made at run time by a loader that shares no code with the server's messages.

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const NAMES = ['Access', 'Catalog', 'Credits', 'Generations', 'Operations', 'Uploads'].map(
  (name) => `darkroom.v1.${name}`,
);

type Loose = Client & Readonly<Record<string, (...args: unknown[]) => never>>;

/** A client of a service, made of its proto file at run time. */
function clientOf(file: string, folder: string, method: string, port: number): Loose {
  const loaded = loadPackageDefinition(
    loadSync(file, { includeDirs: [folder], keepCase: true, enums: String, longs: Number, defaults: true }),
  );
  const constructor = method
    .split('.')
    .reduce<unknown>((part, name) => (part as GrpcObject)[name], loaded) as ServiceClientConstructor;
  return new constructor(`127.0.0.1:${port}`, credentials.createInsecure()) as unknown as Loose;
}

async function unaryCall(
  client: Loose,
  method: string,
  request: object,
  metadata = new Metadata(),
): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    client[method]?.(request, metadata, (error: Error | null, answer: Record<string, unknown>) => {
      if (error) reject(error);
      else resolve(answer);
    });
  });
}

async function streamed(stream: AsyncIterable<unknown>): Promise<Record<string, unknown>[]> {
  const messages: Record<string, unknown>[] = [];
  for await (const message of stream) messages.push(message as Record<string, unknown>);
  return messages;
}

/** Reads the messages of a stream, each of which begins with a flag and its length. */
function countMessages(stream: Readable): () => number {
  let count = 0;
  let rest = Buffer.alloc(0);
  stream.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
      rest = rest.subarray(5 + rest.readUInt32BE(1));
      count += 1;
    }
  });
  return () => count;
}

describe('the gRPC front for an unknown client', () => {
  let harness: ServiceHarness;
  let server: GrpcServer;
  let port: number;
  before(async () => {
    harness = await openServiceHarness();
    server = createGrpcServer({
      context: harness.context,
      callers: { find: () => ({ name: 'local', scopes: SCOPES }) },
      logger: pino({ level: 'silent' }),
    });
    port = await server.listen('127.0.0.1', 0);
  });
  after(async () => {
    await server.close(1_000);
    await harness.close();
  });

  const reflectionClient = () =>
    clientOf(
      'grpc/reflection/v1/reflection.proto',
      `${ROOT}node_modules/@grpc/reflection/build/proto`,
      'grpc.reflection.v1.ServerReflection',
      port,
    );

  it('lists its services, and the file of each with all its imports', async () => {
    const client = reflectionClient();
    const ask = async (request: object) => {
      const stream = client['ServerReflectionInfo']?.() as unknown as AsyncIterable<unknown> & {
        write(message: object): void;
        end(): void;
      };
      stream.write(request);
      stream.end();
      return (await streamed(stream))[0] ?? {};
    };
    const { list_services_response: listed } = await ask({ list_services: '*' });
    expect((listed as { service: { name: string }[] }).service.map(({ name }) => name)).to.include.members([
      ...NAMES,
      'grpc.health.v1.Health',
    ]);
    for (const name of [
      ...NAMES,
      'grpc.health.v1.HealthCheckResponse',
      'google.rpc.ErrorInfo',
      'google.rpc.RetryInfo',
    ]) {
      const { file_descriptor_response: found } = await ask({ file_containing_symbol: name });
      expect((found as { file_descriptor_proto: Buffer[] }).file_descriptor_proto.length, name).to.be.at.least(1);
    }
    client.close();
  });

  it('reads no more reflection requests than the client takes responses to, and answers all', async () => {
    const session = await openSession(port);
    const { stream, status } = new RawCall(session, '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo');
    stream.pause();
    // The fields `host`, which is ignored, and `file_containing_symbol`, whose response has several kilobytes.
    const host = Buffer.alloc(100, 'h');
    const symbol = Buffer.from('darkroom.v1.Generations');
    const request = frame(
      Buffer.concat([Buffer.from([0x0a, host.length]), host, Buffer.from([0x22, symbol.length]), symbol]),
    );
    const requests = 5_000;
    for (let index = 0; index < requests; index += 1) stream.write(request);
    let unsent = -1;
    while (unsent !== stream.writableLength) {
      unsent = stream.writableLength;
      await sleep(500);
    }
    expect(unsent, 'bytes that the server does not take').to.be.above(0);

    const responses = countMessages(stream);
    stream.resume();
    stream.end();
    expect(Number((await status)['grpc-status'])).to.equal(Status.OK);
    expect(responses()).to.equal(requests);
    session.close();
  });

  it('reports itself and each service as serving', async () => {
    const client = clientOf(
      'health/v1/health.proto',
      `${ROOT}node_modules/grpc-health-check/proto`,
      'grpc.health.v1.Health',
      port,
    );
    for (const name of ['', ...NAMES])
      expect(await unaryCall(client, 'check', { service: name }), name).to.deep.equal({ status: 'SERVING' });
    client.close();
  });

  it('serves a client that a loader creates from the proto files, to the end of a generation', async () => {
    const { accountId, appId } = await newOwner(harness.context, 'owner', 1_000);
    const metadata = new Metadata();
    metadata.set('darkroom-account-id', accountId);
    metadata.set('darkroom-app-id', appId);
    const client = clientOf('darkroom/v1/generations.proto', `${ROOT}proto`, 'darkroom.v1.Generations', port);
    const input = {
      model_key: 'picture',
      operation: 'OPERATION_IMAGE_GENERATION',
      prompt: 'a lighthouse',
      parameters: { fields: { size: { kind: 'stringValue', stringValue: '96x64' } } },
    };
    const { generation, replayed } = await unaryCall(
      client,
      'CreateGeneration',
      { input, idempotency_key: 'first' },
      metadata,
    );
    expect([(generation as { status: string }).status, replayed]).to.deep.equal(['GENERATION_STATUS_QUEUED', false]);
    await harness.startWorker();
    const { generation_id: id } = generation as { generation_id: string };
    const told = await streamed(
      client['WatchGeneration']?.({ generation_id: id }, metadata) as unknown as AsyncIterable<unknown>,
    );
    const last = told.at(-1)?.['generation'] as { status: string; charged_credits: number; outputs: object[] };
    expect([last.status, last.outputs.length, last.charged_credits > 0]).to.deep.equal([
      'GENERATION_STATUS_SUCCEEDED',
      1,
      true,
    ]);
    client.close();
  });
});

// Goal: the health of the front reports whether work should be sent here, and stores nothing that an unauthenticated
// client sends.
// Method: the library's own health client, on a server whose readiness the test decides.

const OWN = 'darkroom.v1.Generations';
const definitionOf = (name: string) => {
  const found = service[name];
  if (found === undefined) throw new Error(`The health service has no ${name}.`);
  return found;
};

describe('the health of the gRPC front', () => {
  let server: Server;
  let health: Health;
  let client: Client;
  beforeEach(async () => {
    server = new Server();
    health = new Health([OWN]);
    health.addTo(server);
    const port = await bound(server);
    client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  });
  afterEach(() => {
    health.stop();
    client.close();
    server.forceShutdown();
  });

  const check = (name: string): Promise<string | ServiceError> =>
    new Promise((resolve) => {
      const { path, requestSerialize, responseDeserialize } = definitionOf('Check');
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { service: name }, (error, answer) => {
        resolve(error ?? (answer as { status: string }).status);
      });
    });
  const watch = (name: string): ClientReadableStream<{ readonly status: string }> => {
    const { path, requestSerialize, responseDeserialize } = definitionOf('Watch');
    return client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, {
      service: name,
    }) as ClientReadableStream<{ readonly status: string }>;
  };

  it('is that of the process: not serving while it is not ready, nor from the moment it stops', async () => {
    let isReady = true;
    expect([await check(''), await check(OWN)]).to.deep.equal(['SERVING', 'SERVING']);
    health.follow(() => (isReady ? Promise.resolve(true) : Promise.reject(new Error('The store is away.'))), 5);
    const told: string[] = [];
    for await (const { status } of watch(OWN)) {
      told.push(status);
      if (told.length === 1) isReady = false;
      if (told.length === 2) isReady = true;
      if (told.length === 3) health.stop();
      if (told.length === 4) break;
    }
    expect(told).to.deep.equal(['SERVING', 'NOT_SERVING', 'SERVING', 'NOT_SERVING']);
    expect(await check('')).to.equal('NOT_SERVING');
  });

  it('neither knows, repeats nor stores a name that a caller invents', async () => {
    for (const name of ['x', 'x'.repeat(100_000), '\u{1f3a8}'.repeat(10_000), '__proto__']) {
      const error = await check(name);
      expect(error).to.have.property('code', Status.NOT_FOUND);
      expect((error as ServiceError).details).to.have.length.below(100);
      for await (const { status } of watch(name)) {
        expect(status).to.equal('SERVICE_UNKNOWN');
        break;
      }
    }
    const implementation: unknown = Reflect.get(health, 'implementation');
    expect(implementation).to.be.instanceOf(HealthImplementation);
    expect([...(Reflect.get(implementation as object, 'watchers') as Map<string, unknown>).keys()]).to.deep.equal([
      'unknown',
    ]);
  });
});
