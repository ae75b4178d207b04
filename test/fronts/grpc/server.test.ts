// Goal: the gRPC server itself: unavailable stores, stopping, texts and messages beyond bounds, ports that are taken.
// Method: a server over its own harness, whose stores fail or wait, and the library's own client.
import { create } from '@bufbuild/protobuf';
import { status as Status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { service as healthService } from 'grpc-health-check';
import { pino } from 'pino';
import { Access } from '../../../apps/grpc/generated/darkroom/v1/access_pb.js';
import { Credits } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { Generations } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { ErrorInfoSchema, RetryInfoSchema } from '../../../apps/grpc/generated/google/rpc/error_details_pb.js';
import { createGrpcServer, methodDefinition } from '../../../apps/grpc/server.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { intercepted } from '../../fixtures/intercepted.js';
import { unary } from './grpc-client.js';
import { detail, errorOf, GrpcHarness, PICTURE } from './grpc-harness.js';

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
      unary(grpc.client, Generations.method.getGeneration, { generationId: grpc.owner.appId }, grpc.as('reader')),
    );
    expect([
      error.code,
      detail(error, ErrorInfoSchema)?.reason,
      detail(error, RetryInfoSchema)?.retryDelay?.seconds,
    ]).to.deep.equal([Status.UNAVAILABLE, 'SERVICE_UNAVAILABLE', 2n]);
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
    const asked = errorOf(
      unary(grpc.client, Generations.method.getGeneration, { generationId: grpc.owner.appId }, grpc.as('reader')),
    );
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
    const { path, requestSerialize, responseDeserialize } = methodDefinition(Generations.method.watchGeneration);
    const request = create(Generations.method.watchGeneration.input, { generationId: await grpc.picture('watched') });
    const stream = grpc.client.makeServerStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      grpc.as('reader'),
    );
    let closed: Promise<void> | undefined;
    const error = await errorOf(
      (async () => {
        for await (const _ of stream) closed ??= grpc.server.close(3_600_000);
      })(),
    );
    expect([
      error.code,
      detail(error, ErrorInfoSchema)?.reason,
      detail(error, RetryInfoSchema)?.retryDelay?.seconds,
    ]).to.deep.equal([Status.UNAVAILABLE, 'SERVICE_UNAVAILABLE', 1n]);
    grpc.client.close();
    await closed;
    await grpc.harness.close();
  });

  it('reports the fault of a name as long as a message may be, and serves the other calls of the connection', async () => {
    const grpc = await GrpcHarness.open();
    for (const name of ['n'.repeat(100_000), '\u{1f3a8}'.repeat(20_000)]) {
      const input = { ...PICTURE, parameters: { [name]: 1, other: '\0' } };
      const refused = errorOf(unary(grpc.client, Generations.method.estimateGeneration, { input }, grpc.as('all')));
      const beside = unary(grpc.client, Credits.method.getBalance, {}, grpc.as('all'));
      expect(detail(await refused, ErrorInfoSchema)?.reason).to.equal('FIELD_INVALID');
      expect((await beside).availableCredits).to.equal(1_000n);
    }
    expect((await unary(grpc.client, Credits.method.getBalance, {}, grpc.as('all'))).currency).to.equal('credits');
    await grpc.close();
  });

  it('refuses invalid times, and texts that a store would truncate', async () => {
    const grpc = await GrpcHarness.open();
    const metadata = grpc.as('all', {});
    const key = (seconds: bigint, nanos = 0) =>
      unary(
        grpc.client,
        Access.method.createApiKey,
        { appId: grpc.owner.appId, displayName: 'key', scopes: ['credits:read'], expireTime: { seconds, nanos } },
        metadata,
      );
    for (const asked of [key(253_402_300_800n), key(2n ** 63n - 1n), key(-1n), key(10_000_000_000n, -1)])
      expect((await errorOf(asked)).code).to.equal(Status.INVALID_ARGUMENT);
    expect((await key(253_402_300_799n)).apiKey?.expireTime?.seconds).to.equal(253_402_300_799n);
    const grant = (operationId: string, reason: string) =>
      unary(
        grpc.client,
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
      unary(
        grpc.client,
        Generations.method.createGeneration,
        { input: { prompt: 'x'.repeat(1 << 20) } },
        grpc.as('all'),
      ),
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
