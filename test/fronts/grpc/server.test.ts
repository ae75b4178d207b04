// Goal: over gRPC a service may do what its scopes say, for whom its metadata says and for nobody by default; lists come in
// pages; a watched generation is told of until its end; a stop finishes what is under way.
// Method: a server over a world of its own and the library's own client, with services of chosen scopes.
import { create, fromBinary, type DescMessage, type MessageShape } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { Client, credentials, Metadata, status as Status, type ServiceError } from '@grpc/grpc-js';
import { expect } from 'chai';
import { service as healthService } from 'grpc-health-check';
import { pino } from 'pino';
import type { CallObserver } from '../../../apps/grpc/call-observer.js';
import { DETAILS_KEY } from '../../../apps/grpc/error-status.js';
import { Access } from '../../../apps/grpc/generated/darkroom/v1/access_pb.js';
import { Credits, EntryKind } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { Generations, GenerationStatus } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { Operation } from '../../../apps/grpc/generated/darkroom/v1/media_pb.js';
import { Operations } from '../../../apps/grpc/generated/darkroom/v1/operations_pb.js';
import { BadRequestSchema, ErrorInfoSchema, RequestInfoSchema, RetryInfoSchema } from '../../../apps/grpc/generated/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../../apps/grpc/generated/google/rpc/status_pb.js';
import { createGrpcServer, type GrpcServer } from '../../../apps/grpc/server.js';
import { methodDefinition } from '../../../apps/grpc/service-definition.js';
import { OPERATOR_SCOPES, type ServiceCaller } from '../../../apps/grpc/service-callers.js';
import { Metrics } from '../../../apps/metrics/metrics.js';
import { SCOPES } from '../../../core/access/credential.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { parseExposition, valueOf } from '../../fixtures/exposition.js';
import { intercepted } from '../../fixtures/intercepted.js';
import { newOwner, type Owner } from '../../fixtures/owner.js';
import { openWorld, type World, type WorldOptions } from '../../fixtures/world.js';
import { unary } from './grpc-client.js';

const SERVICES: Readonly<Record<string, ServiceCaller>> = {
  all: { name: 'all', scopes: [...SCOPES, ...OPERATOR_SCOPES] },
  reader: { name: 'reader', scopes: ['generations:read'] },
  expired: { name: 'expired', scopes: [...SCOPES], expiresAt: 1 },
  revoked: { name: 'revoked', scopes: [...SCOPES], isRevoked: true },
};
const PICTURE = { modelKey: 'picture', operation: Operation.IMAGE_GENERATION, prompt: 'a lighthouse', parameters: { size: '96x64' } };

class Stage {
  private constructor(readonly world: World, readonly server: GrpcServer, readonly client: Client, readonly owner: Owner) {}

  static async open(options: WorldOptions = {}, observer?: CallObserver): Promise<Stage> {
    const world = await openWorld(options);
    const server = createGrpcServer({ context: world.context, callers: { find: ({ token }) => SERVICES[token ?? ''] }, logger: pino({ level: 'silent' }), observer });
    const port = await server.listen('127.0.0.1', 0);
    return new Stage(world, server, new Client(`127.0.0.1:${port}`, credentials.createInsecure()), await newOwner(world.context, 'owner', 1_000));
  }

  as(service: string | undefined, of: Partial<Owner> = this.owner): Metadata {
    const metadata = new Metadata();
    if (service !== undefined) metadata.set('authorization', `Bearer ${service}`);
    if (of.accountId !== undefined) metadata.set('darkroom-account-id', of.accountId);
    if (of.appId !== undefined) metadata.set('darkroom-app-id', of.appId);
    return metadata;
  }

  async picture(key: string): Promise<string> {
    const { generation } = await unary(this.client, Generations.method.createGeneration, { input: PICTURE, idempotencyKey: key }, this.as('all'));
    return generation?.generationId ?? '';
  }

  async close(): Promise<void> {
    this.client.close();
    await this.server.close(1_000);
    await this.world.close();
  }
}

const errorOf = (asked: Promise<unknown>): Promise<ServiceError> => asked.then(() => { throw new Error('It was answered.'); }, (error: ServiceError) => error);

function detail<Desc extends DescMessage>({ metadata }: ServiceError, schema: Desc): MessageShape<Desc> | undefined {
  const { details } = fromBinary(StatusSchema, metadata.get(DETAILS_KEY)[0] as Buffer);
  return details.map((packed) => anyUnpack(packed, schema)).find((found) => found !== undefined);
}

describe('calls over gRPC', () => {
  let stage: Stage;
  beforeEach(async () => { stage = await Stage.open(); });
  afterEach(() => stage.close());

  it('are refused in order: who, what, for whom', async () => {
    const { client } = stage;
    const ask = (metadata: Metadata) => errorOf(unary(client, Generations.method.createGeneration, {}, metadata));
    const foreign = await newOwner(stage.world.context, 'foreign', 0);
    const cases: readonly (readonly [Metadata, Status, string])[] = [
      [stage.as(undefined, {}), Status.UNAUTHENTICATED, 'DEVELOPER_TOKEN_REQUIRED'],
      [stage.as('nobody', {}), Status.UNAUTHENTICATED, 'DEVELOPER_TOKEN_INVALID'],
      [stage.as('expired', {}), Status.UNAUTHENTICATED, 'DEVELOPER_TOKEN_EXPIRED'],
      [stage.as('revoked', {}), Status.UNAUTHENTICATED, 'DEVELOPER_TOKEN_REVOKED'],
      [stage.as('reader', {}), Status.PERMISSION_DENIED, 'DEVELOPER_SCOPE_INSUFFICIENT'],
      [stage.as('all', {}), Status.INVALID_ARGUMENT, 'FIELD_REQUIRED'],
      [stage.as('all', { accountId: stage.owner.accountId }), Status.INVALID_ARGUMENT, 'FIELD_REQUIRED'],
      [stage.as('all', { accountId: 'x', appId: stage.owner.appId }), Status.INVALID_ARGUMENT, 'FIELD_INVALID'],
      [stage.as('all', { accountId: stage.owner.accountId, appId: foreign.appId }), Status.NOT_FOUND, 'NOT_FOUND'],
      [stage.as('all'), Status.INVALID_ARGUMENT, 'IDEMPOTENCY_KEY_REQUIRED'],
    ];
    for (const [metadata, status, reason] of cases) {
      const error = await ask(metadata);
      expect([error.code, detail(error, ErrorInfoSchema)?.reason, detail(error, ErrorInfoSchema)?.domain]).to.deep.equal([status, reason, 'darkroom']);
    }
  });

  it('say which field was at fault, and under which id the request is known', async () => {
    const metadata = stage.as('all');
    metadata.set('x-request-id', 'mine-1');
    const input = { ...PICTURE, referenceUploadIds: ['nothing'] };
    const error = await errorOf(unary(stage.client, Generations.method.createGeneration, { input, idempotencyKey: 'k' }, metadata));
    expect(detail(error, BadRequestSchema)?.fieldViolations[0]).to.include({ field: 'input.reference_upload_ids[0]', reason: 'FIELD_INVALID' });
    expect(detail(error, RequestInfoSchema)?.requestId).to.equal('mine-1');
    expect(detail(error, RetryInfoSchema), 'nothing gets better by waiting').to.equal(undefined);
  });

  it('list the generations of the App in pages, and take a token for no other list', async () => {
    const ids: string[] = [];
    for (const key of ['a', 'b', 'c']) ids.unshift(await stage.picture(key));
    const list = (pageSize: number, pageToken: string, metadata = stage.as('reader')) => unary(stage.client, Generations.method.listGenerations, { pageSize, pageToken, readMask: { paths: ['generation_id', 'status'] } }, metadata);
    const first = await list(2, '');
    const second = await list(2, first.nextPageToken);
    expect([...first.generations, ...second.generations].map(({ generationId }) => generationId)).to.deep.equal(ids);
    expect([first.nextPageToken === '', second.nextPageToken]).to.deep.equal([false, '']);
    expect(first.generations[0]).to.include({ status: GenerationStatus.QUEUED, modelKey: '' });
    const other = await newOwner(stage.world.context, 'other', 0);
    for (const asked of [list(2, first.nextPageToken, stage.as('reader', other)), list(2, 'nonsense'), list(-1, '')]) expect((await errorOf(asked)).code).to.equal(Status.INVALID_ARGUMENT);
    const mask = unary(stage.client, Generations.method.getGeneration, { generationId: ids[0] ?? '', readMask: { paths: ['secret'] } }, stage.as('reader'));
    expect((await errorOf(mask)).details).to.include('"secret"');
  });

  it('tell of a watched generation until it has ended, each time as it is', async () => {
    const generationId = await stage.picture('watched');
    const { path, requestSerialize, responseDeserialize } = methodDefinition(Generations.method.watchGeneration);
    const stream = stage.client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, create(Generations.method.watchGeneration.input, { generationId }), stage.as('reader'));
    const seen: GenerationStatus[] = [];
    for await (const message of stream) {
      const { generation } = message as MessageShape<typeof Generations.method.watchGeneration.output>;
      seen.push(generation?.status ?? GenerationStatus.UNSPECIFIED);
      if (seen.length === 1) await stage.world.startWorker();
    }
    expect([seen[0], seen.at(-1)]).to.deep.equal([GenerationStatus.QUEUED, GenerationStatus.SUCCEEDED]);
    expect(seen.toSorted((a, b) => a - b)).to.deep.equal(seen);
  });

  it('let operators do their work: accounts, keys, credits, the ledger, recovery', async () => {
    const { client } = stage;
    const metadata = stage.as('all', {});
    const { account } = await unary(client, Access.method.createAccount, { displayName: 'new' }, metadata);
    const accountId = account?.accountId ?? '';
    const { app } = await unary(client, Access.method.createApp, { accountId, displayName: 'app' }, metadata);
    const { apiKey, secret } = await unary(client, Access.method.createApiKey, { appId: app?.appId ?? '', displayName: 'key', scopes: ['credits:read'] }, metadata);
    expect((await stage.world.authenticator.authenticate(secret)).scopes).to.deep.equal(['credits:read']);
    await unary(client, Access.method.revokeApiKey, { keyId: apiKey?.keyId ?? '' }, metadata);
    expect((await unary(client, Access.method.listApiKeys, { accountId }, metadata)).apiKeys[0]?.revokeTime).not.to.equal(undefined);
    const grant = { accountId, operationId: 'g', credits: 50n, reason: 'first' };
    for (let times = 0; times < 2; times += 1) expect((await unary(client, Credits.method.grantCredits, grant, metadata)).account).to.include({ issued: 50n, available: 50n });
    expect((await errorOf(unary(client, Credits.method.grantCredits, { ...grant, operationId: 'h', credits: 2n ** 60n }, metadata))).code).to.equal(Status.INVALID_ARGUMENT);
    await unary(client, Credits.method.adjustCredits, { accountId, operationId: 'a', credits: -20n, reason: 'too much' }, metadata);
    const { entries } = await unary(client, Credits.method.listEntries, { accountId }, metadata);
    expect(entries.map(({ kind, credits, availableAfter }) => [kind, credits, availableAfter])).to.deep.equal([[EntryKind.GRANT, 50n, 50n], [EntryKind.ADJUSTMENT, 20n, 30n]]);
    expect(await unary(client, Credits.method.verifyCredits, {}, metadata)).to.deep.include({ accounts: 2n, findings: [] });
    expect(await unary(client, Operations.method.runRecovery, {}, metadata)).to.include({ failed: 0n });
    expect((await unary(client, Operations.method.getRetention, {}, metadata)).outputs?.seconds).to.equal(604_800n);
    expect((await errorOf(unary(client, Credits.method.grantCredits, grant, stage.as('reader', {})))).code).to.equal(Status.PERMISSION_DENIED);
  });
});

describe('metrics of the gRPC front', () => {
  it('count every call once, by method and code, and those under way', async () => {
    const metrics = new Metrics();
    const stage = await Stage.open({}, metrics.grpc);
    await stage.picture('one');
    const generationId = await stage.picture('two');
    await unary(stage.client, Generations.method.getGeneration, { generationId }, stage.as('reader'));
    await errorOf(unary(stage.client, Generations.method.getGeneration, { generationId: 'none' }, stage.as('reader')));
    await errorOf(unary(stage.client, Generations.method.getGeneration, { generationId }, stage.as('nobody')));
    const families = parseExposition(await metrics.text());
    const calls = (method: string, code: string) => valueOf(families, 'darkroom_grpc_calls_total', { method: `darkroom.v1.Generations/${method}`, code });
    expect([calls('CreateGeneration', 'OK'), calls('GetGeneration', 'OK'), calls('GetGeneration', 'TASK_NOT_FOUND'), calls('GetGeneration', 'DEVELOPER_TOKEN_INVALID')]).to.deep.equal([2, 1, 1, 1]);
    expect([valueOf(families, 'darkroom_grpc_calls_total', {}), valueOf(families, 'darkroom_grpc_calls_in_flight', {})]).to.deep.equal([5, 0]);
    expect(valueOf(families, 'darkroom_grpc_call_duration_seconds_count', {})).to.equal(5);
    await stage.close();
  });
});

describe('a gRPC server', () => {
  it('says that it will be back when a store is away, and after what time to try again', async () => {
    const stage = await Stage.open({
      around: (ports) => ({ ...ports, generations: intercepted('generations', ports.generations, () => Promise.reject(new StoreUnavailable('The line broke.'))) }),
    });
    const error = await errorOf(unary(stage.client, Generations.method.getGeneration, { generationId: stage.owner.appId }, stage.as('reader')));
    expect([error.code, detail(error, ErrorInfoSchema)?.reason, detail(error, RetryInfoSchema)?.retryDelay?.seconds]).to.deep.equal([Status.UNAVAILABLE, 'SERVICE_UNAVAILABLE', 2n]);
    expect(error.details, 'what broke is our own affair').not.to.include('line');
    await stage.close();
  });

  it('finishes what is under way when it is asked to stop', async () => {
    let reached: () => void = () => undefined;
    let release: () => void = () => undefined;
    const isReached = new Promise<void>((resolve) => { reached = resolve; });
    const isReleased = new Promise<void>((resolve) => { release = resolve; });
    const stage = await Stage.open({
      around: (ports) => ({ ...ports, generations: intercepted('generations', ports.generations, async (call) => { reached(); await isReleased; return call.proceed(); }) }),
    });
    const asked = errorOf(unary(stage.client, Generations.method.getGeneration, { generationId: stage.owner.appId }, stage.as('reader')));
    await isReached;
    const closed = stage.server.close(60_000);
    release();
    expect((await asked).code).to.equal(Status.NOT_FOUND);
    stage.client.close();
    await closed;
    await stage.world.close();
  });

  it('sends those away who watch when it is asked to stop, as they could stay for long', async () => {
    const stage = await Stage.open();
    const { path, requestSerialize, responseDeserialize } = methodDefinition(Generations.method.watchGeneration);
    const request = create(Generations.method.watchGeneration.input, { generationId: await stage.picture('watched') });
    const stream = stage.client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, stage.as('reader'));
    let closed: Promise<void> | undefined;
    const error = await errorOf((async () => { for await (const _ of stream) closed ??= stage.server.close(3_600_000); })());
    expect([error.code, detail(error, ErrorInfoSchema)?.reason, detail(error, RetryInfoSchema)?.retryDelay?.seconds]).to.deep.equal([Status.UNAVAILABLE, 'SERVICE_UNAVAILABLE', 1n]);
    stage.client.close();
    await closed;
    await stage.world.close();
  });

  it('says what was wrong with a name as long as a message may be, and goes on with the other calls of the connection', async () => {
    const stage = await Stage.open();
    for (const name of ['n'.repeat(100_000), '\u{1f3a8}'.repeat(20_000)]) {
      const input = { ...PICTURE, parameters: { [name]: 1, other: '\0' } };
      const refused = errorOf(unary(stage.client, Generations.method.estimateGeneration, { input }, stage.as('all')));
      const beside = unary(stage.client, Credits.method.getBalance, {}, stage.as('all'));
      expect(detail(await refused, ErrorInfoSchema)?.reason).to.equal('FIELD_INVALID');
      expect((await beside).availableCredits).to.equal(1_000n);
    }
    expect((await unary(stage.client, Credits.method.getBalance, {}, stage.as('all'))).currency).to.equal('credits');
    await stage.close();
  });

  it('takes no time that is none, and no text that a store would cut', async () => {
    const stage = await Stage.open();
    const metadata = stage.as('all', {});
    const key = (seconds: bigint, nanos = 0) => unary(stage.client, Access.method.createApiKey, { appId: stage.owner.appId, displayName: 'key', expireTime: { seconds, nanos } }, metadata);
    for (const asked of [key(253_402_300_800n), key(2n ** 63n - 1n), key(-1n), key(10_000_000_000n, -1)]) expect((await errorOf(asked)).code).to.equal(Status.INVALID_ARGUMENT);
    expect((await key(253_402_300_799n)).apiKey?.expireTime?.seconds).to.equal(253_402_300_799n);
    const grant = (operationId: string, reason: string) => unary(stage.client, Credits.method.grantCredits, { accountId: stage.owner.accountId, operationId, credits: 1n, reason }, metadata);
    for (const asked of [grant('a\0b', 'fine'), grant('a', 'b\0c')]) expect((await errorOf(asked)).code).to.equal(Status.INVALID_ARGUMENT);
    await stage.close();
  });

  it('does not wait for those who watch its health, and tells them that it goes', async () => {
    const stage = await Stage.open();
    const watch = healthService['Watch'];
    if (watch === undefined) throw new Error('The health service has no watch.');
    const { path, requestSerialize, responseDeserialize } = watch;
    const stream = stage.client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { service: 'darkroom.v1.Generations' });
    const told: string[] = [];
    let closed: Promise<void> | undefined;
    const seen = (async () => {
      for await (const { status } of stream as AsyncIterable<{ status: string }>) {
        told.push(status);
        closed ??= stage.server.close(3_600_000);
      }
    })().catch(() => undefined);
    await seen;
    await closed;
    expect(told).to.deep.equal(['SERVING', 'NOT_SERVING']);
    stage.client.close();
    await stage.world.close();
  });

  it('refuses a message that is too large, whatever is in it', async () => {
    const stage = await Stage.open();
    const error = await errorOf(unary(stage.client, Generations.method.createGeneration, { input: { prompt: 'x'.repeat(1 << 20) } }, stage.as('all')));
    expect(error.code).to.equal(Status.RESOURCE_EXHAUSTED);
    await stage.close();
  });

  it('says in one sentence that a port is taken', async () => {
    const stage = await Stage.open();
    const other = createGrpcServer({ context: stage.world.context, callers: { find: () => undefined }, logger: pino({ level: 'silent' }) });
    const taken = Number(stage.client.getChannel().getTarget().split(':').at(-1));
    const refused: unknown = await other.listen('127.0.0.1', taken).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(Error).with.property('message').that.includes(`port ${taken} of 127.0.0.1`).and.includes('grpc.port');
    await other.close(0);
    await stage.close();
  });
});
