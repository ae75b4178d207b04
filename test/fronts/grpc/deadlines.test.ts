// Goal: a deadline that has passed, or a call that was cancelled, ends what only reads, also in the middle of a long work; what has
// begun to write goes on to its end, so that its key answers, and nothing is begun for somebody who has gone.
// Method: a server over a world whose stores wait at a gate; the client leaves before it is opened.
import { EventEmitter, once } from 'node:events';
import { rmSync } from 'node:fs';
import { create, type DescMessage, type DescMethodUnary, type MessageInitShape } from '@bufbuild/protobuf';
import { type CallOptions, type Client, type Metadata, status as Status, type ServiceError } from '@grpc/grpc-js';
import { expect } from 'chai';
import { openSqlite, type SqliteStores } from '../../../adapters/sqlite/open-sqlite.js';
import type { EndedCall } from '../../../apps/grpc/calls/call-observer.js';
import { Credits } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { Generations } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { Operations } from '../../../apps/grpc/generated/darkroom/v1/operations_pb.js';
import { methodDefinition } from '../../../apps/grpc/service-definition.js';
import { createAccount } from '../../../core/access/manage.js';
import { CallOver, type CallScope } from '../../../core/call-scope.js';
import type { Ports } from '../../../core/ports/tokens.js';
import { temporaryFolder } from '../../adapters/sqlite/sqlite-subject.js';
import { Gate, interceptedStores, type Interceptor, type PortCall } from '../../fixtures/intercepted.js';
import type { Owner } from '../../fixtures/owner.js';
import type { World } from '../../fixtures/world.js';
import { unary } from './grpc-client.js';
import { PICTURE, Stage } from './stage.js';

const { getGeneration, createGeneration } = Generations.method;
const CREATE = { input: PICTURE, idempotencyKey: 'k' };

/** A call that was sent, and what its client was told of it in the end. */
interface Sent {
  cancel(): void;
  readonly refused: Promise<ServiceError>;
}

/** A stage whose stores may be stopped, and what its server says of calls that have ended. */
class StoppedStage {
  private constructor(private readonly stage: Stage, private readonly ended: EndedCall[], private readonly ends: EventEmitter) {}

  static async open(interceptor: Interceptor, ports: Partial<Ports> = {}): Promise<StoppedStage> {
    let isSet = false;
    const guarded: Interceptor = (call) => (isSet ? interceptor(call) : call.proceed());
    const [ended, ends] = [[] as EndedCall[], new EventEmitter()];
    const stage = await Stage.open({
      ports,
      around: (all) => ({ ...all, ...interceptedStores(all, guarded) }),
      observer: { begun: () => undefined, ended: (call) => { ended.push(call); ends.emit('ended'); } },
    });
    isSet = true;
    return new StoppedStage(stage, ended, ends);
  }

  get world(): World {
    return this.stage.world;
  }

  get client(): Client {
    return this.stage.client;
  }

  get owner(): Owner {
    return this.stage.owner;
  }

  get metadata(): Metadata {
    return this.stage.as('all');
  }

  send<I extends DescMessage, O extends DescMessage>(desc: DescMethodUnary<I, O>, init: MessageInitShape<I>, options: CallOptions = {}): Sent {
    const { path, requestSerialize, responseDeserialize } = methodDefinition(desc);
    let cancel: () => void = () => undefined;
    const refused = new Promise<ServiceError>((resolve, reject) => {
      const call = this.client.makeUnaryRequest(path, requestSerialize, responseDeserialize, create(desc.input, init), this.metadata, options, (error) => {
        if (error) resolve(error); else reject(new Error('It was answered.'));
      });
      cancel = () => call.cancel();
    });
    return { cancel, refused };
  }

  /** A later call of the same connection is answered once the server has read what the client said before. */
  async arrival(): Promise<void> {
    await unary(this.client, Operations.method.getRetention, {}, this.metadata);
    const [end, ...others] = this.ended.splice(0);
    expect([end?.method, others]).to.deep.equal(['darkroom.v1.Operations/GetRetention', []]);
  }

  /** What the server says of its next call that ends. */
  async nextEnd(): Promise<EndedCall['code']> {
    if (this.ended.length === 0) await once(this.ends, 'ended');
    return this.ended.shift()?.code;
  }

  /** The caller cancels while the stores are stopped, which then go on; answers what its client was told. */
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
    return this.stage.close();
  }
}

const scopeOf = ({ args }: PortCall): CallScope => args.at(-1) as CallScope;

/** Until the call is over, as a store that never answers would have it; without a call, for ever. */
const untilOver = (call: PortCall): Promise<never> => new Promise((_, reject) => { scopeOf(call).onOver(() => reject(new CallOver())); });

/** Keeps the first call of the name, and what follows, waiting until it is opened. */
class Stop extends Gate {
  private arrive: () => void = () => undefined;
  readonly isReached = new Promise<void>((resolve) => { this.arrive = resolve; });

  /** `seen` is told of every call. */
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

describe('a call that is given up', () => {
  it('ends a read in the store, cancelled by its caller or past its deadline', async () => {
    const reached: CallScope[] = [];
    let arrived: () => void = () => undefined;
    const stage = await StoppedStage.open((call) => {
      if (call.name !== 'generations.read') return call.proceed();
      reached.push(scopeOf(call));
      arrived();
      return untilOver(call);
    });
    const isReached = new Promise<void>((resolve) => { arrived = resolve; });
    const cancelled = stage.send(getGeneration, { generationId: stage.owner.appId });
    await isReached;
    cancelled.cancel();
    expect((await cancelled.refused).code).to.equal(Status.CANCELLED);
    expect(await stage.nextEnd()).to.equal('CANCELLED');

    const deadline = Date.now() + 300;
    const late = stage.send(getGeneration, { generationId: stage.owner.appId }, { deadline });
    expect((await late.refused).code).to.equal(Status.DEADLINE_EXCEEDED);
    // The server counts the time that is left from when the call arrives, so the client may give it up first.
    expect(await stage.nextEnd()).to.be.oneOf(['DEADLINE_EXCEEDED', 'CANCELLED']);
    expect(reached.map((call) => call.isOver)).to.deep.equal([true, true]);
    expect(reached[0]?.deadline).to.equal(Infinity);
    expect(reached[1]?.deadline, 'as far ahead as the client said, from some time since').to.be.within(deadline - 5, Date.now() + 300);
    await stage.close();
  });

  it('finishes a create that had begun: once, and its key answers with it', async () => {
    const stop = new Stop();
    const stage = await StoppedStage.open(stop.at('generations.insert'));
    expect(await stage.giveUpAt(stop, stage.send(createGeneration, CREATE))).to.equal(Status.CANCELLED);

    const again = await unary(stage.client, createGeneration, CREATE, stage.metadata);
    expect(again.replayed).to.equal(true);
    const account = await stage.world.context.accounts.read(stage.owner.accountId);
    expect(account?.reserved).to.equal(Number(again.generation?.reservedCredits));
    expect([...(account?.holds.keys() ?? [])]).to.deep.equal([again.generation?.generationId]);
    await stage.close();
  });

  it('begins nothing when its caller has gone before the write', async () => {
    const stop = new Stop();
    const written: string[] = [];
    const stage = await StoppedStage.open(stop.at('credentials.readApp', (name) => { if (!name.includes('.read')) written.push(name); }));
    await stage.giveUpAt(stop, stage.send(createGeneration, CREATE));
    expect(written).to.deep.equal([]);
    expect((await unary(stage.client, createGeneration, CREATE, stage.metadata)).replayed).to.equal(false);
    await stage.close();
  });

  it('gives no credits when its caller has gone before the write', async () => {
    const stop = new Stop();
    const stage = await StoppedStage.open(stop.at('accounts.findOperation'));
    const grant = { accountId: stage.owner.accountId, operationId: 'g', credits: 5n, reason: '' };
    await stage.giveUpAt(stop, stage.send(Credits.method.grantCredits, grant));
    expect(await stage.world.context.accounts.read(stage.owner.accountId)).to.include({ issued: 1_000 });
    expect((await unary(stage.client, Credits.method.grantCredits, grant, stage.metadata)).earlierTime, 'it is the first').to.equal(undefined);
    await stage.close();
  });

  it('ends the recovery it asked for after what that is at', async () => {
    const stop = new Stop();
    const done: string[] = [];
    const stage = await StoppedStage.open(stop.at('generations.due', (name) => { done.push(name); }));
    await stage.giveUpAt(stop, stage.send(Operations.method.runRecovery, {}));
    expect(done, 'nothing of what comes after in a pass').to.deep.equal(['generations.due']);
    await stage.close();
  });
});

describe('a verification that is given up, over SQLite', () => {
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

  it('stops between two accounts, though it never waits for anything', async () => {
    const ACCOUNTS = 400;
    let reads = 0;
    let halfway: () => void = () => undefined;
    const stage = await StoppedStage.open((call) => {
      if (call.name === 'accounts.read' && (reads += 1) === 20) halfway();
      return call.proceed();
    }, { accounts: stores.accounts, generations: stores.generations });
    for (let n = 0; n < ACCOUNTS; n += 1) await createAccount(stage.world.context, { name: `account ${n}` });
    const isHalfway = new Promise<void>((resolve) => { halfway = resolve; });
    const sent = stage.send(Credits.method.verifyCredits, {});
    await isHalfway;
    sent.cancel();
    expect((await sent.refused).code).to.equal(Status.CANCELLED);
    expect(await stage.nextEnd()).to.equal('CANCELLED');
    expect(reads).to.be.below(ACCOUNTS);
    await stage.close();
  });
});
