// Goal: over gRPC a service may do what its scopes allow, for the account and App that its metadata names and for none
// by default, as often as its limit allows; lists are paged; a watched generation is reported until it ends; every call
// is counted.
// Method: a server over its own harness and the library's own client, with services of chosen scopes.
import type { Duration } from '@bufbuild/protobuf/wkt';
import { type Metadata, status as Status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { Access } from '../../../apps/grpc/generated/darkroom/v1/access_pb.js';
import { Credits, EntryKind } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import {
  GenerationEventType,
  Generations,
  GenerationStatus,
  type WatchEventsResponse,
} from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { GetRetentionResponseSchema, Operations } from '../../../apps/grpc/generated/darkroom/v1/operations_pb.js';
import { Uploads } from '../../../apps/grpc/generated/darkroom/v1/uploads_pb.js';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RequestInfoSchema,
  RetryInfoSchema,
} from '../../../apps/grpc/generated/google/rpc/error_details_pb.js';
import { Metrics } from '../../../apps/metrics/metrics.js';
import { findThumbnail, readThumbnail } from '../../../core/generation/thumbnails.js';
import type { JsonObject } from '../../../core/json.js';
import { DEFAULT_SETTINGS } from '../../../core/settings.js';
import { until } from '../../fixtures/clocks.js';
import { parseExposition, valueOf } from '../../fixtures/exposition.js';
import { newOwner } from '../../fixtures/memory-stores.js';
import { unary } from './grpc-client.js';
import { detail, errorOf, GrpcHarness, LIMITED, PICTURE, SERVICES, refusalOf } from './grpc-harness.js';
import { keptLog } from '../../harness/kept-log.js';

describe('calls over gRPC', () => {
  let grpc: GrpcHarness;
  beforeEach(async () => {
    grpc = await GrpcHarness.open();
  });
  afterEach(() => grpc.close());

  it('are refused in order: caller, scope, account', async () => {
    const { client } = grpc;
    const ask = (metadata: Metadata) => errorOf(unary(client, Generations.method.createGeneration, {}, metadata));
    const foreign = await newOwner(grpc.harness.context, 'foreign', 0);
    const cases: readonly (readonly [Metadata, Status, string])[] = [
      [grpc.as(undefined, {}), Status.UNAUTHENTICATED, 'DEVELOPER_TOKEN_REQUIRED'],
      [grpc.as('nobody', {}), Status.UNAUTHENTICATED, 'DEVELOPER_TOKEN_INVALID'],
      [grpc.as('expired', {}), Status.UNAUTHENTICATED, 'DEVELOPER_TOKEN_EXPIRED'],
      [grpc.as('revoked', {}), Status.UNAUTHENTICATED, 'DEVELOPER_TOKEN_REVOKED'],
      [grpc.as('reader', {}), Status.PERMISSION_DENIED, 'DEVELOPER_SCOPE_INSUFFICIENT'],
      [grpc.as('all', {}), Status.INVALID_ARGUMENT, 'FIELD_REQUIRED'],
      [grpc.as('all', { accountId: grpc.owner.accountId }), Status.INVALID_ARGUMENT, 'FIELD_REQUIRED'],
      [grpc.as('all', { accountId: 'x', appId: grpc.owner.appId }), Status.INVALID_ARGUMENT, 'FIELD_INVALID'],
      [grpc.as('all', { accountId: grpc.owner.accountId, appId: foreign.appId }), Status.NOT_FOUND, 'NOT_FOUND'],
      [grpc.as('all'), Status.INVALID_ARGUMENT, 'IDEMPOTENCY_KEY_REQUIRED'],
    ];
    for (const [metadata, status, reason] of cases) {
      const error = await ask(metadata);
      expect([
        error.code,
        detail(error, ErrorInfoSchema)?.reason,
        detail(error, ErrorInfoSchema)?.domain,
      ]).to.deep.equal([status, reason, 'darkroom']);
    }
  });

  it('are counted if the operator limits them per minute, reads and writes separately, and for each service alone', async () => {
    const read = (service: string) => grpc.call(Credits.method.getBalance, {}, service);
    for (let times = 0; times < 2; times += 1) await read('limited');
    const error = await errorOf(read('limited'));
    expect(refusalOf(error)).to.deep.equal([Status.RESOURCE_EXHAUSTED, 'RATE_LIMITED']);
    expect(Number(detail(error, RetryInfoSchema)?.retryDelay?.seconds)).to.be.within(1, 60);
    const write = () => grpc.call(Generations.method.estimateGeneration, { input: PICTURE }, 'limited');
    await write();
    expect((await errorOf(write())).details).to.equal(
      'limited may send 1 writes a minute; wait for the time in RetryInfo.',
    );
    await read('all');

    SERVICES['limited'] = { ...LIMITED, ratesPerMinute: { reads: 3 } };
    for (let times = 0; times < 3; times += 1) await read('limited');
    expect((await errorOf(read('limited'))).code, 'a limit that was changed').to.equal(Status.RESOURCE_EXHAUSTED);
    for (let times = 0; times < 3; times += 1) await write();
    SERVICES['limited'] = LIMITED;
  });

  it('take more of a rate the larger their requests are, and a single one never more than the whole', async () => {
    const write = (service: string, prompt: string) =>
      grpc.call(Generations.method.estimateGeneration, { input: { ...PICTURE, prompt } }, service);
    const [small, large] = ['x', 'x'.repeat(40 * 1024)];
    SERVICES['by-size'] = { ...LIMITED, name: 'by-size', ratesPerMinute: { writes: 5 } };
    expect((await errorOf(write('by-size', large))).details, 'three of five').to.include('prompt');
    expect((await errorOf(write('by-size', large))).details).to.equal(
      'by-size may send 5 writes a minute, and this one counts as 3 for its size; wait for the time in RetryInfo.',
    );
    SERVICES['by-size'] = { ...LIMITED, name: 'one-write', ratesPerMinute: { writes: 1 } };
    expect((await errorOf(write('by-size', large))).details, 'the whole rate').to.include('prompt');
    expect((await errorOf(write('by-size', small))).code).to.equal(Status.RESOURCE_EXHAUSTED);
    delete SERVICES['by-size'];
  });

  it('name the faulty field, and the id of the request', async () => {
    const metadata = grpc.as('all');
    metadata.set('x-request-id', 'mine-1');
    const input = { ...PICTURE, referenceUploadIds: ['nothing'] };
    const error = await errorOf(
      grpc.call(Generations.method.createGeneration, { input, idempotencyKey: 'k' }, metadata),
    );
    expect(detail(error, BadRequestSchema)?.fieldViolations[0]).to.include({
      field: 'input.reference_upload_ids[0]',
      reason: 'FIELD_INVALID',
    });
    expect(detail(error, RequestInfoSchema)?.requestId).to.equal('mine-1');
    expect(detail(error, RetryInfoSchema), 'nothing gets better by waiting').to.equal(undefined);
  });

  it('are logged with the service that made them, and the code they were refused with', async () => {
    const { lines, logger } = keptLog('debug');
    const logged = await GrpcHarness.open({ logger });
    await logged.call(Credits.method.getBalance, {});
    await errorOf(logged.call(Credits.method.getBalance, {}, 'reader'));
    await errorOf(logged.call(Credits.method.getBalance, {}, 'svc_live_0123456789abcdefghijklmnopqrstuvwxyz0123456'));
    await errorOf(logged.call(Credits.method.getBalance, {}, 'revoked'));
    expect(
      lines
        .filter(({ msg }) => msg === 'request')
        .map(({ level, caller, code, front }) => [level, caller, code, front]),
    ).to.deep.equal([
      [20, 'all', undefined, 'grpc'],
      [30, 'reader', 'DEVELOPER_SCOPE_INSUFFICIENT', 'grpc'],
      [30, undefined, 'DEVELOPER_TOKEN_INVALID', 'grpc'],
      [30, 'revoked', 'DEVELOPER_TOKEN_REVOKED', 'grpc'],
    ]);
    await logged.close();
  });

  it('are logged at info once for each create and each refusal, with their field and ids', async () => {
    const { lines, logger } = keptLog('info');
    const logged = await GrpcHarness.open({ logger });
    const { accountId } = logged.owner;
    const generationId = await logged.picture('k');
    await logged.picture('k');
    const get = (id: string) => logged.call(Generations.method.getGeneration, { generationId: id });
    await get(generationId);
    const nobodys = '0198C0DE-0000-7000-8000-000000000000';
    await errorOf(get(nobodys));
    await errorOf(get('no-id'));
    await errorOf(
      logged.call(Generations.method.createGeneration, {
        input: { ...PICTURE, referenceUploadIds: ['x'] },
        idempotencyKey: 'other',
      }),
    );
    await errorOf(logged.call(Uploads.method.completeUpload, { uploadId: nobodys, idempotencyKey: 'c' }));
    const told = lines
      .filter(({ msg }) => msg === 'request')
      .map((line) => [
        line['level'],
        line['accountId'],
        line['code'],
        line['field'],
        line['generationId'],
        line['uploadId'],
      ]);
    expect(told).to.deep.equal([
      [30, accountId, undefined, undefined, generationId, undefined],
      [30, accountId, 'TASK_NOT_FOUND', undefined, nobodys.toLowerCase(), undefined],
      [30, accountId, 'TASK_NOT_FOUND', undefined, undefined, undefined],
      [30, accountId, 'FIELD_INVALID', '/reference_upload_ids/0', undefined, undefined],
      [30, accountId, 'FIELD_INVALID', '/upload_id', undefined, nobodys.toLowerCase()],
    ]);
    await logged.close();
  });

  it('are refused as over REST if parameters are nested too deep', async () => {
    const nested = (levels: number): JsonObject => (levels === 0 ? {} : { in: nested(levels - 1) });
    const reasonOf = async (levels: number) => {
      const asked = grpc.call(Generations.method.estimateGeneration, {
        input: { ...PICTURE, parameters: nested(levels) },
      });
      return detail(await errorOf(asked), ErrorInfoSchema)?.reason;
    };
    expect([await reasonOf(30), await reasonOf(31), await reasonOf(60)]).to.deep.equal([
      'FIELD_REQUIRED',
      'BODY_INVALID',
      'BODY_INVALID',
    ]);
  });

  it('list the generations of the App in pages, and refuse a token of another list', async () => {
    const ids: string[] = [];
    for (const key of ['a', 'b', 'c']) ids.unshift(await grpc.picture(key));
    const list = (pageSize: number, pageToken: string, metadata = grpc.as('reader')) =>
      grpc.call(
        Generations.method.listGenerations,
        { pageSize, pageToken, readMask: { paths: ['generation_id', 'status'] } },
        metadata,
      );
    const first = await list(2, '');
    const second = await list(2, first.nextPageToken);
    expect([...first.generations, ...second.generations].map(({ generationId }) => generationId)).to.deep.equal(ids);
    expect([first.nextPageToken === '', second.nextPageToken]).to.deep.equal([false, '']);
    expect(first.generations[0]).to.include({ status: GenerationStatus.QUEUED, modelKey: '' });
    const other = await newOwner(grpc.harness.context, 'other', 0);
    for (const asked of [list(2, first.nextPageToken, grpc.as('reader', other)), list(2, 'nonsense'), list(-1, '')])
      expect((await errorOf(asked)).code).to.equal(Status.INVALID_ARGUMENT);
    const mask = grpc.call(
      Generations.method.getGeneration,
      { generationId: ids[0] ?? '', readMask: { paths: ['secret'] } },
      'reader',
    );
    expect((await errorOf(mask)).details).to.include('"secret"');
  });

  it('list the thumbnails of a generation at the public address, and count their bytes for its account', async () => {
    await grpc.harness.startWorker();
    const { generation } = await grpc.call(Generations.method.createGeneration, {
      input: PICTURE,
      idempotencyKey: 'k',
    });
    const generationId = generation?.generationId ?? '';
    const read = async () => (await grpc.call(Generations.method.getGeneration, { generationId })).generation;
    await until(async () => (await read())?.status === GenerationStatus.SUCCEEDED);
    const [output] = (await read())?.outputs ?? [];
    const { outputs } = await grpc.call(Generations.method.getThumbnails, { generationId }, 'reader');
    expect(outputs.map(({ mediaId }) => mediaId)).to.deep.equal([output?.mediaId]);
    const shown = outputs[0]?.thumbnails.map(({ url, width, height }) => [new URL(url).pathname, width, height]);
    const path = `/thumbnails/${generationId}/${output?.mediaId}`;
    expect(shown).to.deep.equal([320, 640, 1_280].map((sidePx) => [`${path}/${sidePx}`, 96, 64]));
    const { context } = grpc.harness;
    const found = await findThumbnail(context, { generationId, mediaId: output?.mediaId ?? '', sidePx: 320 });
    const bytes = found && (await readThumbnail(context, found));
    const { accountId } = grpc.owner;
    expect((await grpc.call(Access.method.getAccountStorage, { accountId })).thumbnails).to.include({
      generations: 1n,
      bytes: BigInt(bytes?.length ?? 0),
    });
    const stranger = await newOwner(context, 'stranger', 0);
    const error = await errorOf(grpc.call(Generations.method.getThumbnails, { generationId }, 'all', stranger));
    expect(detail(error, ErrorInfoSchema)?.reason).to.equal('TASK_NOT_FOUND');
  });

  it('send the current state of a watched generation until it has ended', async () => {
    const generationId = await grpc.picture('watched');
    const seen: GenerationStatus[] = [];
    for await (const { generation } of grpc.watch(generationId, grpc.as('reader'))) {
      seen.push(generation?.status ?? GenerationStatus.UNSPECIFIED);
      if (seen.length === 1) await grpc.harness.startWorker();
    }
    expect([seen[0], seen.at(-1)]).to.deep.equal([GenerationStatus.QUEUED, GenerationStatus.SUCCEEDED]);
    expect(seen.toSorted((a, b) => a - b)).to.deep.equal(seen);
  });

  it('send the events of an App with the place of what is queued', async () => {
    const events = grpc.watchEvents(grpc.as('reader'))[Symbol.asyncIterator]();
    const next = events.next();
    await until(() => grpc.harness.context.appWatch.followed === 1);
    await grpc.picture('first');
    await grpc.picture('second');
    const begun = (await next).value as WatchEventsResponse;
    expect([begun.type, begun.eventId === '']).to.deep.equal([GenerationEventType.UNSPECIFIED, false]);
    const seen = [(await events.next()).value, (await events.next()).value] as WatchEventsResponse[];
    expect(seen.map(({ type, queuePosition }) => [type, queuePosition])).to.deep.equal([
      [GenerationEventType.QUEUED, 0],
      [GenerationEventType.QUEUED, 1],
    ]);
    await events.return?.();
  });

  it('send nothing more to a service that was revoked while it watched', async () => {
    const generationId = await grpc.picture('watched');
    let told = 0;
    const error = await errorOf(
      (async () => {
        for await (const _ of grpc.watch(generationId, grpc.as('limited'))) {
          told += 1;
          SERVICES['limited'] = { ...LIMITED, isRevoked: true };
          await grpc.harness.startWorker();
        }
      })(),
    );
    SERVICES['limited'] = LIMITED;
    expect([told, error.code, detail(error, ErrorInfoSchema)?.reason]).to.deep.equal([
      1,
      Status.UNAUTHENTICATED,
      'DEVELOPER_TOKEN_REVOKED',
    ]);
  });

  it('serve operators: accounts, keys, credits, the ledger, recovery', async () => {
    const { client } = grpc;
    const metadata = grpc.as('all', {});
    const { account } = await unary(client, Access.method.createAccount, { displayName: 'new' }, metadata);
    const accountId = account?.accountId ?? '';
    const { app } = await unary(client, Access.method.createApp, { accountId, displayName: 'app' }, metadata);
    const { apiKey, secret } = await unary(
      client,
      Access.method.createApiKey,
      { appId: app?.appId ?? '', displayName: 'key', scopes: ['credits:read'] },
      metadata,
    );
    expect((await grpc.harness.authenticator.authenticate(secret)).scopes).to.deep.equal(['credits:read']);
    await unary(client, Access.method.revokeApiKey, { keyId: apiKey?.keyId ?? '' }, metadata);
    expect(
      (await unary(client, Access.method.listApiKeys, { accountId }, metadata)).apiKeys[0]?.revokeTime,
    ).not.to.equal(undefined);
    const grant = { accountId, operationId: 'g', credits: 50n, reason: 'first' };
    for (let times = 0; times < 2; times += 1)
      expect((await unary(client, Credits.method.grantCredits, grant, metadata)).account?.credits).to.include({
        issued: 50n,
        available: 50n,
      });
    expect(
      (
        await errorOf(
          unary(client, Credits.method.grantCredits, { ...grant, operationId: 'h', credits: 2n ** 60n }, metadata),
        )
      ).code,
    ).to.equal(Status.INVALID_ARGUMENT);
    await unary(
      client,
      Credits.method.adjustCredits,
      { accountId, operationId: 'a', credits: -20n, reason: 'too much' },
      metadata,
    );
    const { entries } = await unary(client, Credits.method.listEntries, { accountId }, metadata);
    expect(entries.map(({ kind, credits, availableAfter }) => [kind, credits, availableAfter])).to.deep.equal([
      [EntryKind.GRANT, 50n, 50n],
      [EntryKind.ADJUSTMENT, 20n, 30n],
    ]);
    expect(await unary(client, Credits.method.verifyCredits, {}, metadata)).to.deep.include({
      accounts: 2n,
      findings: [],
    });
    expect(await unary(client, Operations.method.runRecovery, {}, metadata)).to.include({ failed: 0n });
    const retention = await unary(client, Operations.method.getRetention, {}, metadata);
    expect(
      GetRetentionResponseSchema.fields.map(({ localName }) => [
        localName,
        Number((retention as unknown as Readonly<Record<string, Duration>>)[localName]?.seconds) * 1_000,
      ]),
    ).to.deep.equal([
      ['outputs', DEFAULT_SETTINGS.outputRetentionMs],
      ['generations', DEFAULT_SETTINGS.taskRetentionMs],
      ['remnants', DEFAULT_SETTINGS.tombstoneRetentionMs],
      ['uploads', DEFAULT_SETTINGS.uploadRetentionMs],
      ['replays', DEFAULT_SETTINGS.replayWindowMs],
      ['claims', DEFAULT_SETTINGS.claimRetentionMs],
      ['unchargedContent', DEFAULT_SETTINGS.unchargedContentRetentionMs],
    ]);
    expect((await errorOf(unary(client, Credits.method.grantCredits, grant, grpc.as('reader', {})))).code).to.equal(
      Status.PERMISSION_DENIED,
    );
  });
});

describe('metrics of the gRPC front', () => {
  it('count every call once, by method and code, and those in progress', async () => {
    const metrics = new Metrics();
    const grpc = await GrpcHarness.open({ observer: metrics.grpc });
    await grpc.picture('one');
    const generationId = await grpc.picture('two');
    await grpc.call(Generations.method.getGeneration, { generationId }, 'reader');
    await errorOf(grpc.call(Generations.method.getGeneration, { generationId: 'none' }, 'reader'));
    await errorOf(grpc.call(Generations.method.getGeneration, { generationId }, 'nobody'));
    const families = parseExposition(await metrics.text());
    const calls = (method: string, code: string) =>
      valueOf(families, 'darkroom_grpc_calls_total', { method: `darkroom.v1.Generations/${method}`, code });
    expect([
      calls('CreateGeneration', 'OK'),
      calls('GetGeneration', 'OK'),
      calls('GetGeneration', 'TASK_NOT_FOUND'),
      calls('GetGeneration', 'DEVELOPER_TOKEN_INVALID'),
    ]).to.deep.equal([2, 1, 1, 1]);
    expect([
      valueOf(families, 'darkroom_grpc_calls_total', {}),
      valueOf(families, 'darkroom_grpc_calls_in_flight', {}),
    ]).to.deep.equal([5, 0]);
    expect(valueOf(families, 'darkroom_grpc_call_duration_seconds_count', {})).to.equal(5);
    await grpc.close();
  });
});
