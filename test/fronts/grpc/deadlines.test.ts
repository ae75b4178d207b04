import { create, type DescMessage, type DescMethodUnary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  type CallOptions,
  Client,
  compressionAlgorithms,
  credentials,
  Metadata,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  type ServiceError,
  status as Status,
} from '@grpc/grpc-js';
import { expect } from 'chai';
import { EventEmitter, once } from 'node:events';
import { rmSync } from 'node:fs';
import { type ClientHttp2Session, constants } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { openSqlite, type SqliteStores } from '../../../adapters/sqlite/open-sqlite.js';
import { Credits } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { Generations } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { Operations } from '../../../apps/grpc/generated/darkroom/v1/operations_pb.js';
import { type EndedCall, guardCalls } from '../../../apps/grpc/serve-call.js';
import { methodDefinition } from '../../../apps/grpc/definitions.js';
import { createAccount } from '../../../core/access/manage.js';
import { CallOver, type Cancellation } from '../../../core/cancellation.js';
import type { PageRequest } from '../../../core/paging.js';
import type { Ports } from '../../../core/ports/ports.js';
import { temporaryFolder } from '../../adapters/sqlite/sqlite-subject.js';
import { Gate, intercepted, interceptedStores, type Interceptor, type PortCall } from '../../fixtures/intercepted.js';
import type { Owner } from '../../fixtures/memory-stores.js';
import type { ServiceHarness } from '../../harness/service-harness.js';
import { unary } from './grpc-client.js';
import { GrpcHarness, PICTURE, SERVICES, type StageOptions } from './grpc-harness.js';
import { frame, openSession, RawCall } from './raw-call.js';

// Goal: an expired deadline or a cancelled call ends a read, also in the middle of long work; a write in progress
// completes, so that its key replays it, and nothing is started for a client that has disconnected.
// Method: a server over a harness whose stores wait at a gate; the client leaves before the gate opens. No time is
// measured: what must end would otherwise run for ever.

const { getGeneration, createGeneration } = Generations.method;
const HOUR_MS = 3_600_000;
/** The cursor with which an endless list starts again. */
const ANEW = 'anew';
const CREATE = { input: PICTURE, idempotencyKey: 'k' };

/** A call that was sent, and the error that its client got. */
interface Sent {
  cancel(): void;
  readonly refused: Promise<ServiceError>;
}

/** A harness whose stores may be stopped, and the server's reports of calls that have ended. */
class StoppedStage {
  private constructor(
    private readonly grpc: GrpcHarness,
    private readonly ended: EndedCall[],
    private readonly ends: EventEmitter,
  ) {}

  static async open(interceptor: Interceptor, ports: Partial<Ports> = {}): Promise<StoppedStage> {
    let isSet = false;
    const guarded: Interceptor = (call) => (isSet ? interceptor(call) : call.proceed());
    const [ended, ends] = [[] as EndedCall[], new EventEmitter()];
    const grpc = await GrpcHarness.open({
      ports,
      around: (all) => ({ ...all, ...interceptedStores(all, guarded) }),
      observer: {
        started: () => undefined,
        ended: (call) => {
          ended.push(call);
          ends.emit('ended');
        },
      },
    });
    isSet = true;
    return new StoppedStage(grpc, ended, ends);
  }

  get harness(): ServiceHarness {
    return this.grpc.harness;
  }

  get client(): Client {
    return this.grpc.client;
  }

  get port(): number {
    return this.grpc.port;
  }

  get owner(): Owner {
    return this.grpc.owner;
  }

  get metadata(): Metadata {
    return this.grpc.as('all');
  }

  send<I extends DescMessage, O extends DescMessage>(
    desc: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    options: CallOptions = {},
  ): Sent {
    const { path, requestSerialize, responseDeserialize } = methodDefinition(desc);
    let cancel: () => void = () => undefined;
    const refused = new Promise<ServiceError>((resolve, reject) => {
      const call = this.client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        create(desc.input, init),
        this.metadata,
        options,
        (error) => {
          if (error) resolve(error);
          else reject(new Error('It was answered.'));
        },
      );
      cancel = () => call.cancel();
    });
    return { cancel, refused };
  }

  /** Unlike a client library: with a deadline that the client itself does not watch. */
  sendRaw<I extends DescMessage, O extends DescMessage>(
    session: ClientHttp2Session,
    desc: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    headers: Readonly<Record<string, string>>,
  ): RawCall {
    const named = Object.fromEntries(
      Object.entries(this.metadata.getMap()).map(([name, value]) => [name, String(value)]),
    );
    const call = new RawCall(session, methodDefinition(desc).path, { ...named, ...headers });
    call.stream.end(frame(toBinary(desc.input, create(desc.input, init))));
    return call;
  }

  /** A later call of the same connection is answered once the server has read what the client sent before. */
  async arrival(): Promise<void> {
    await unary(this.client, Operations.method.getRetention, {}, this.metadata);
    const [end, ...others] = this.ended.splice(0);
    expect([end?.method, others]).to.deep.equal(['darkroom.v1.Operations/GetRetention', []]);
  }

  /** The code that the server reports for the next call that ends. */
  async nextEnd(): Promise<EndedCall['code']> {
    if (this.ended.length === 0) await once(this.ends, 'ended');
    return this.ended.shift()?.code;
  }

  /** The caller cancels while the stores are stopped, which then continue; returns the status that its client got. */
  async giveUpAt(stop: Stop, sent: Sent): Promise<Status> {
    await stop.isReached;
    sent.cancel();
    const { code } = await sent.refused;
    await this.arrival();
    stop.open();
    expect(await this.nextEnd()).to.equal('CANCELLED');
    return code;
  }

  close(): Promise<void> {
    return this.grpc.close();
  }
}

const scopeOf = ({ args }: PortCall): Cancellation => args.at(-1) as Cancellation;

/** A store whose reads of generations never answer: each lasts until its call is over. */
class HeldReads {
  readonly reached: Cancellation[] = [];
  private taken = 0;
  private readonly arrivals = new EventEmitter();

  readonly interceptor: Interceptor = (call) => {
    if (call.name !== 'generations.read') return call.proceed();
    const scope = scopeOf(call);
    this.reached.push(scope);
    this.arrivals.emit('reached');
    return new Promise<never>((_, reject) => {
      scope.onOver(() => reject(new CallOver()));
    });
  };

  /** The call of the next read, which may not have arrived yet. */
  async next(): Promise<Cancellation> {
    while (this.reached.length <= this.taken) await once(this.arrivals, 'reached');
    this.taken += 1;
    return this.reached[this.taken - 1] as Cancellation;
  }
}

/** Holds the first call with the name, and all later ones, until it is opened. */
class Stop extends Gate {
  private arrive: () => void = () => undefined;
  readonly isReached = new Promise<void>((resolve) => {
    this.arrive = resolve;
  });

  /** `seen` is called for every call. */
  at(name: string, seen: (name: string) => void = () => undefined): Interceptor {
    return async (call) => {
      if (call.name === name) {
        this.arrive();
        await this.wait();
      }
      seen(call.name);
      return call.proceed();
    };
  }
}

describe('a call that is cancelled or past its deadline', () => {
  it('ends a read in the store that its caller cancels', async () => {
    const reads = new HeldReads();
    const grpc = await StoppedStage.open(reads.interceptor);
    const cancelled = grpc.send(getGeneration, { generationId: grpc.owner.appId });
    const scope = await reads.next();
    expect([scope.isOver, scope.deadline]).to.deep.equal([false, Infinity]);
    cancelled.cancel();
    expect((await cancelled.refused).code).to.equal(Status.CANCELLED);
    expect(await grpc.nextEnd()).to.equal('CANCELLED');
    expect(scope.isOver).to.equal(true);
    await grpc.close();
  });

  it('ends a read in the store that is past its deadline', async () => {
    const reads = new HeldReads();
    const grpc = await StoppedStage.open(reads.interceptor);
    const session = await openSession(grpc.port);
    // A deadline that passes before the store is reached proves nothing; then one twice as long is tried.
    for (let timeoutMs = 50; reads.reached.length === 0; timeoutMs *= 2) {
      const late = grpc.sendRaw(
        session,
        getGeneration,
        { generationId: grpc.owner.appId },
        { 'grpc-timeout': `${timeoutMs}m` },
      );
      expect(Number((await late.status)['grpc-status'])).to.equal(Status.DEADLINE_EXCEEDED);
      // The server's timer may fire up to a millisecond before its clock shows the deadline.
      expect(await grpc.nextEnd()).to.be.oneOf(['DEADLINE_EXCEEDED', 'CANCELLED']);
    }
    expect(reads.reached.map((scope) => scope.isOver)).to.deep.equal([true]);
    session.destroy();
    await grpc.close();
  });

  it('passes the deadline of the client to the store', async () => {
    const reads = new HeldReads();
    const grpc = await StoppedStage.open(reads.interceptor);
    const session = await openSession(grpc.port);
    for (const [timeout, timeoutMs] of [
      ['1H', HOUR_MS],
      ['300M', 5 * HOUR_MS],
      ['90000S', 25 * HOUR_MS],
    ] as const) {
      const before = Date.now();
      const call = grpc.sendRaw(
        session,
        getGeneration,
        { generationId: grpc.owner.appId },
        { 'grpc-timeout': timeout },
      );
      const { deadline } = await reads.next();
      // Counted from a time between the two, by the single clock of this process.
      expect(deadline, timeout).to.be.within(before + timeoutMs, Date.now() + timeoutMs);
      call.stream.close(constants.NGHTTP2_CANCEL);
      expect(await grpc.nextEnd()).to.equal('CANCELLED');
    }
    session.destroy();
    await grpc.close();
  });

  it('completes a started create once, and its key replays it', async () => {
    const stop = new Stop();
    const grpc = await StoppedStage.open(stop.at('generations.insert'));
    expect(await grpc.giveUpAt(stop, grpc.send(createGeneration, CREATE))).to.equal(Status.CANCELLED);

    const again = await unary(grpc.client, createGeneration, CREATE, grpc.metadata);
    expect(again.replayed).to.equal(true);
    const account = await grpc.harness.context.accounts.read(grpc.owner.accountId);
    expect(account?.reserved).to.equal(Number(again.generation?.reservedCredits));
    expect([...(account?.holds.keys() ?? [])]).to.deep.equal([again.generation?.generationId]);
    await grpc.close();
  });

  it('begins nothing when its caller disconnects before the write', async () => {
    const stop = new Stop();
    const written: string[] = [];
    const grpc = await StoppedStage.open(
      stop.at('credentials.readApp', (name) => {
        if (!name.includes('.read')) written.push(name);
      }),
    );
    await grpc.giveUpAt(stop, grpc.send(createGeneration, CREATE));
    expect(written).to.deep.equal([]);
    expect((await unary(grpc.client, createGeneration, CREATE, grpc.metadata)).replayed).to.equal(false);
    await grpc.close();
  });

  it('grants no credits when its caller disconnects before the write', async () => {
    const stop = new Stop();
    const grpc = await StoppedStage.open(stop.at('accounts.findOperation'));
    const grant = { accountId: grpc.owner.accountId, operationId: 'g', credits: 5n, reason: '' };
    await grpc.giveUpAt(stop, grpc.send(Credits.method.grantCredits, grant));
    expect(await grpc.harness.context.accounts.read(grpc.owner.accountId)).to.include({ issued: 1_000 });
    expect(
      (await unary(grpc.client, Credits.method.grantCredits, grant, grpc.metadata)).earlierTime,
      'it is the first',
    ).to.equal(undefined);
    await grpc.close();
  });

  it('ends its recovery after the current item', async () => {
    const stop = new Stop();
    const done: string[] = [];
    const grpc = await StoppedStage.open(
      stop.at('generations.due', (name) => {
        done.push(name);
      }),
    );
    await grpc.giveUpAt(stop, grpc.send(Operations.method.runRecovery, {}));
    expect(done, 'nothing of what comes after in a pass').to.deep.equal(['generations.due']);
    await grpc.close();
  });
});

describe('a cancelled verification, over SQLite', () => {
  let folder: string;
  let stores: SqliteStores;
  beforeEach(async () => {
    folder = temporaryFolder();
    stores = await openSqlite({ folder, role: 'server' });
  });
  afterEach(async () => {
    await stores.close();
    rmSync(folder, { recursive: true });
  });

  it('stops between two accounts, though the store is synchronous and the list endless', async () => {
    let reads = 0;
    let begin: () => void = () => undefined;
    const isUnderWay = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const grpc = await StoppedStage.open(
      async (call) => {
        if (call.name === 'accounts.read' && (reads += 1) === 20) begin();
        if (call.name !== 'accounts.list') return call.proceed();
        const [{ limit, cursor }, scope] = call.args as [PageRequest, Cancellation];
        const page = await stores.accounts.list({ limit, ...(cursor === ANEW ? {} : { cursor }) }, scope);
        return { ...page, nextCursor: page.nextCursor ?? ANEW };
      },
      { accounts: stores.accounts, generations: stores.generations },
    );
    for (let n = 0; n < 5; n += 1) await createAccount(grpc.harness.context, { name: `account ${n}` });
    const sent = grpc.send(Credits.method.verifyCredits, {});
    await isUnderWay;
    sent.cancel();
    expect((await sent.refused).code).to.equal(Status.CANCELLED);
    expect(await grpc.nextEnd(), 'it would go on for ever').to.equal('CANCELLED');
    await grpc.close();
  });
});

// Goal: no request of an unauthenticated client is read or decompressed, and no client keeps a call open by sending
// nothing; a malformed message is refused with its code like any other fault; a stop waits for calls whose request is
// still arriving.
// Method: calls written by hand over HTTP/2, since no client library would make them.

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
    await open({ observer: { started: () => undefined, ended: ({ method, code }) => ended.push([method, code]) } });
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
