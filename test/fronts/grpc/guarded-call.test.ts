// Goal: no request of an unauthenticated client is read or decompressed, and no client keeps a call open by sending
// nothing; a malformed message is refused with its code like any other fault; a stop waits for calls whose request is
// still arriving.
// Method: calls written by hand over HTTP/2, since no client library would make them.
import { create, toBinary } from '@bufbuild/protobuf';
import {
  Client,
  compressionAlgorithms,
  credentials,
  Metadata,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status as Status,
} from '@grpc/grpc-js';
import { expect } from 'chai';
import type { ClientHttp2Session } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { Credits } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { Generations } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { guardCalls } from '../../../apps/grpc/serve-call.js';
import { Gate, intercepted } from '../../fixtures/intercepted.js';
import { unary } from './grpc-client.js';
import { GrpcHarness, PICTURE, SERVICES, type StageOptions } from './grpc-harness.js';
import { frame, openSession, RawCall } from './raw-call.js';

const GET = '/darkroom.v1.Generations/GetGeneration';
const ZEROS = frame(gzipSync(Buffer.alloc(100_000)), { compressed: true });

describe('calls that are checked before they are read', () => {
  let grpc: GrpcHarness;
  let session: ClientHttp2Session;
  const open = async (options: StageOptions = {}): Promise<void> => {
    grpc = await GrpcHarness.open(options);
    session = await openSession(grpc.port);
  };
  afterEach(async () => {
    session.destroy();
    await grpc.close();
  });

  const headersOf = (service: string) =>
    Object.fromEntries(Object.entries(grpc.as(service).getMap()).map(([name, value]) => [name, String(value)]));

  it('are refused unread, if the caller is unknown', async () => {
    await open();
    for (const [token, says] of [
      [undefined, 'authorization'],
      ['Bearer nobody', 'not valid'],
    ] as const) {
      const call = new RawCall(session, GET, {
        'grpc-encoding': 'gzip',
        ...(token === undefined ? {} : { authorization: token }),
      });
      // Neither complete nor ended: a server that read it first would wait, or find that it is not gzip.
      call.stream.write(frame(Buffer.from('no gzip'), { compressed: true }).subarray(0, 9));
      const told = await call.status;
      expect(Number(told['grpc-status'])).to.equal(Status.UNAUTHENTICATED);
      expect(decodeURIComponent(String(told['grpc-message']))).to.include(says);
    }
  });

  it('may be compressed if they come from a service, and not otherwise', async () => {
    await open();
    const packing = new Client(`127.0.0.1:${grpc.port}`, credentials.createInsecure(), {
      'grpc.default_compression_algorithm': compressionAlgorithms.gzip,
    });
    expect((await unary(packing, Credits.method.getBalance, {}, grpc.as('all'))).availableCredits).to.equal(1_000n);
    packing.close();
    for (const path of [
      '/darkroom.v1.Catalog/ListModels',
      '/grpc.health.v1.Health/Check',
      '/grpc.health.v1.Health/Watch',
      '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    ]) {
      const call = new RawCall(session, path, { 'grpc-encoding': 'gzip' });
      call.stream.write(Buffer.concat(Array.from({ length: 100 }, () => ZEROS)));
      const told = await call.status;
      expect(Number(told['grpc-status']), path).to.equal(Status.UNIMPLEMENTED);
      expect(told['grpc-message']).to.include('uncompressed');
    }
  });

  it('are refused with a code and an id, and counted, if their message is malformed', async () => {
    const ended: unknown[] = [];
    await open({ observer: { begun: () => undefined, ended: ({ method, code }) => ended.push([method, code]) } });
    const deep = Buffer.concat(Array.from({ length: 200 }, (_, level) => Buffer.from([0x0a, 199 - level])));
    for (const bytes of [Buffer.from([0x0a, 0x05]), Buffer.from([0x0a, 0x02, 0xff, 0xff]), deep]) {
      const call = new RawCall(session, GET, headersOf('all'));
      call.stream.end(frame(bytes));
      const told = await call.status;
      expect([Number(told['grpc-status']), told['grpc-status-details-bin'] === undefined]).to.deep.equal([
        Status.INVALID_ARGUMENT,
        false,
      ]);
      expect(told['grpc-message']).to.include('GetGenerationRequest');
    }
    expect(ended).to.deep.equal(Array.from({ length: 3 }, () => [GET.slice(1), 'BODY_INVALID']));
  });

  it('are counted, and refused because of their caller, before their message is', async () => {
    await open();
    SERVICES['narrow'] = { name: 'narrow', scopes: ['generations:read'], ratesPerMinute: { reads: 2, writes: 1 } };
    const refusedAs = async (path: string): Promise<number> => {
      const call = new RawCall(session, path, headersOf('narrow'));
      call.stream.end(frame(Buffer.from([0xff])));
      return Number((await call.status)['grpc-status']);
    };
    expect(await refusedAs('/darkroom.v1.Generations/CreateGeneration')).to.equal(Status.PERMISSION_DENIED);
    expect([await refusedAs(GET), await refusedAs(GET), await refusedAs(GET)]).to.deep.equal([
      Status.INVALID_ARGUMENT,
      Status.INVALID_ARGUMENT,
      Status.RESOURCE_EXHAUSTED,
    ]);
    delete SERVICES['narrow'];
  });

  it('are ignored if they had ended before any of their message arrived', async () => {
    await open();
    const events: string[] = [];
    const note = (what: string) => () => {
      events.push(what);
    };
    const noting = {
      onReceiveMetadata: note('metadata'),
      onReceiveMessage: note('message'),
      onReceiveHalfClose: note('end'),
      onCancel: note('cancel'),
    };
    const guard = guardCalls({
      open: new Set(),
      closed: new Set(),
      callers: { find: () => undefined },
      clock: { now: Date.now },
      requestTimeoutMs: 1,
    });
    const guarded = (call: object) =>
      guard(
        { path: GET, requestStream: false } as Parameters<ServerInterceptor>[0],
        call as ServerInterceptingCallInterface,
      );
    guarded({ start: () => undefined, sendStatus: note('status') }).start(noting);
    // The control: a call whose metadata arrives and whose request does not. Timers of one length fire in the order of
    // their start.
    await new Promise<void>((refused) => {
      const begun = {
        start: (listener: Parameters<ServerInterceptingCallInterface['start']>[0]) =>
          listener.onReceiveMetadata(new Metadata()),
        sendStatus: () => refused(),
      };
      guarded(begun).start({ ...noting, onReceiveMetadata: () => undefined });
    });
    expect(events).to.deep.equal([]);
  });

  it('are ended if their message does not arrive completely', async () => {
    await open({ requestTimeoutMs: 50 });
    const silent = new RawCall(session, GET, headersOf('all'));
    const endless = new RawCall(session, GET, headersOf('all'));
    endless.stream.write(frame(Buffer.alloc(0)));
    const open3 = new RawCall(session, '/grpc.health.v1.Health/Watch');
    for (const call of [silent, endless, open3])
      expect(Number((await call.status)['grpc-status'])).to.equal(Status.DEADLINE_EXCEEDED);
  });

  it('are served if they were open before the stop, and their request arrived after it', async () => {
    const gate = new Gate();
    let holds = false;
    await open({
      around: (ports) => ({
        ...ports,
        acceptances: intercepted('acceptances', ports.acceptances, async (call) => {
          if (holds && call.name === 'acceptances.accept') await gate.wait();
          return call.proceed();
        }),
      }),
    });
    const generationId = await grpc.picture('one');
    const asked = (method: 'createGeneration' | 'watchGeneration') =>
      new RawCall(session, `/darkroom.v1.Generations/${Generations.method[method].name}`, headersOf('all'));
    const [late, watch] = [asked('createGeneration'), asked('watchGeneration')];
    // Answered after both had arrived.
    await unary(grpc.client, Credits.method.getBalance, {}, grpc.as('all'));
    const pinged = new Promise((resolve) => {
      session.ping(resolve);
    });
    await pinged;
    holds = true;
    const closed = grpc.server.close(600_000);
    late.stream.end(
      frame(
        toBinary(
          Generations.method.createGeneration.input,
          create(Generations.method.createGeneration.input, { input: PICTURE, idempotencyKey: 'late' }),
        ),
      ),
    );
    watch.stream.end(
      frame(
        toBinary(
          Generations.method.watchGeneration.input,
          create(Generations.method.watchGeneration.input, { generationId }),
        ),
      ),
    );
    expect(Number((await watch.status)['grpc-status']), 'whoever begins to watch is sent away').to.equal(
      Status.UNAVAILABLE,
    );
    expect(gate.reached).to.equal(true);
    gate.open();
    expect(Number((await late.status)['grpc-status'])).to.equal(Status.OK);
    await closed;
  });
});
