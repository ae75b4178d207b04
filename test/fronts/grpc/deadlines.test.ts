// Goal: an expired deadline or a cancelled call ends a read, also in the middle of long work; a write that has begun
// completes, so that its key replays it, and nothing is begun for a client that has disconnected.
// Method: a server over a harness whose stores wait at a gate; the client leaves before the gate opens. No time is
// measured: what must end would otherwise run for ever.
import { create, type DescMessage, type DescMethodUnary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type CallOptions, type Client, type Metadata, type ServiceError, status as Status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { EventEmitter, once } from 'node:events';
import { rmSync } from 'node:fs';
import { type ClientHttp2Session, constants } from 'node:http2';
import { openSqlite, type SqliteStores } from '../../../adapters/sqlite/open-sqlite.js';
import { Credits } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { Generations } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { Operations } from '../../../apps/grpc/generated/darkroom/v1/operations_pb.js';
import type { EndedCall } from '../../../apps/grpc/serve-call.js';
import { methodDefinition } from '../../../apps/grpc/server.js';
import { createAccount } from '../../../core/access/manage.js';
import { CallOver, type Cancellation } from '../../../core/cancellation.js';
import type { PageRequest } from '../../../core/paging.js';
import type { Ports } from '../../../core/ports/ports.js';
import { temporaryFolder } from '../../adapters/sqlite/sqlite-subject.js';
import { Gate, interceptedStores, type Interceptor, type PortCall } from '../../fixtures/intercepted.js';
import type { Owner } from '../../fixtures/owner.js';
import type { ServiceHarness } from '../../harness/service-harness.js';
import { unary } from './grpc-client.js';
import { GrpcHarness, PICTURE } from './grpc-harness.js';
import { frame, openSession, RawCall } from './raw-call.js';

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

/** A harness whose stores may be stopped, and what its server reports of calls that have ended. */
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
        begun: () => undefined,
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

  /** What the server reports of its next call that ends. */
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

/** Keeps the first call of the name, and what follows, waiting until it is opened. */
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

  it('completes a create that had begun: once, and its key replays it', async () => {
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
