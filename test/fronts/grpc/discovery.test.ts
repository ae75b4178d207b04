// Goal: tools that know only the address find the services and their messages, and learn whether they are served; a
// client that another toolchain makes from the proto files works.
// Method: reflection and health are queried by clients made from their own proto files; the client of docs/grpc.md is
// made at run time by a loader that shares no code with the server's messages.
import {
  type Client,
  credentials,
  type GrpcObject,
  loadPackageDefinition,
  Metadata,
  type ServiceClientConstructor,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { expect } from 'chai';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { createGrpcServer, type GrpcServer } from '../../../apps/grpc/server.js';
import { SCOPES } from '../../../core/access/credential.js';
import { newOwner } from '../../fixtures/owner.js';
import { openServiceHarness, type ServiceHarness } from '../../harness/service-harness.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const NAMES = ['Access', 'Catalog', 'Credits', 'Generations', 'Operations', 'Uploads'].map(
  (name) => `darkroom.v1.${name}`,
);

type Loose = Client & Readonly<Record<string, (...args: unknown[]) => never>>;

/** A client of a service, made of its proto file at run time. */
function clientOf(file: string, folder: string, service: string, port: number): Loose {
  const loaded = loadPackageDefinition(
    loadSync(file, { includeDirs: [folder], keepCase: true, enums: String, longs: Number, defaults: true }),
  );
  const constructor = service
    .split('.')
    .reduce<unknown>((part, name) => (part as GrpcObject)[name], loaded) as ServiceClientConstructor;
  return new constructor(`127.0.0.1:${port}`, credentials.createInsecure()) as unknown as Loose;
}

async function unary(
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

  it('lists its services, and the file of each with all its imports', async () => {
    const client = clientOf(
      'grpc/reflection/v1/reflection.proto',
      `${ROOT}node_modules/@grpc/reflection/build/proto`,
      'grpc.reflection.v1.ServerReflection',
      port,
    );
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

  it('reports itself and each service as serving', async () => {
    const client = clientOf(
      'health/v1/health.proto',
      `${ROOT}node_modules/grpc-health-check/proto`,
      'grpc.health.v1.Health',
      port,
    );
    for (const service of ['', ...NAMES])
      expect(await unary(client, 'check', { service }), service).to.deep.equal({ status: 'SERVING' });
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
    const { generation, replayed } = await unary(
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
