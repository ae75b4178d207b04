import { expect } from 'chai';
import { CallOver } from '../../../core/cancellation.js';
import type { Context } from '../../../core/context.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import { appEvents } from '../../../core/generation/events.js';
import type { Generation } from '../../../core/generation/generation.js';
import { LastingCalls } from '../../../core/generation/lasting-calls.js';
import { waitForEnd, waitForGeneration, type Waiting } from '../../../core/generation/wait-for-generation.js';
import { LOOK_EVERY_MS, LOOK_SELDOM_MS } from '../../../core/generation/watch.js';
import { generationChangesContract } from '../../contracts/generation-changes.contract.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { codeOf } from '../../fixtures/memory-stores.js';
import { TellingGenerations } from '../../fixtures/stored-records.js';
import { CoreHarness, expectCode } from '../../harness/core-harness.js';

// Goal: a call that waits for a generation learns of its end, never longer than it asked for, and costs one read for
// all that wait for the same one.
// Method: core on memory adapters with a clock that the test moves; reads counted on their way to the store.

describe('waiting for a generation', () => {
  let harness: CoreHarness;
  let context: Context;
  let generationId: string;
  let reads = 0;
  let failures = 0;

  beforeEach(async () => {
    harness = await CoreHarness.open();
    reads = 0;
    failures = 0;
    context = harness.process(async (call) => {
      if (call.name !== 'generations.read') return call.proceed();
      reads += 1;
      if (failures === 0) return call.proceed();
      failures -= 1;
      throw new StoreUnavailable('not now');
    });
    ({ generationId } = await harness.create());
    reads = 0;
  });

  const wait = (waitMs: number, more: Partial<Waiting> = {}) =>
    waitForGeneration(context, harness.caller, generationId, { waitMs, ...more });

  it("refuses another owner's generation without a wait", async () => {
    const other = await harness.newCaller(0);
    await expectCode('TASK_NOT_FOUND', waitForGeneration(context, other, generationId, { waitMs: 10_000 }));
    expect(context.generationWatch.followed).to.equal(0);
  });

  it('answers at once when it is not to wait', async () => {
    expect((await wait(0)).status).to.equal('queued');
    expect(reads).to.equal(1);
  });

  it('ends with the time, and follows nothing afterwards', async () => {
    const waiting = wait(LOOK_EVERY_MS * 2.5);
    await harness.clock.advance(LOOK_EVERY_MS * 2.5);
    expect((await waiting).status).to.equal('queued');
    expect(context.generationWatch.followed).to.equal(0);
    const before = reads;
    await harness.clock.advance(LOOK_EVERY_MS * 4);
    expect(reads).to.equal(before);
  });

  it('ends with the call, whose listener is removed', async () => {
    const call = new TestedCall();
    context = { ...context, call };
    const waiting = wait(50_000);
    await harness.clock.advance(LOOK_EVERY_MS);
    call.end();
    expect(await waiting.catch((error: unknown) => error)).to.be.instanceOf(CallOver);
    expect([call.listeners, context.generationWatch.followed]).to.deep.equal([0, 0]);
  });

  it('ends with what else may end it, and reads all the same', async () => {
    expect((await wait(50_000, { until: TestedCall.over() })).status).to.equal('queued');
    const until = new TestedCall();
    const waiting = wait(50_000, { until });
    await harness.clock.advance(LOOK_EVERY_MS);
    until.end();
    expect((await waiting).status).to.equal('queued');
    expect([until.listeners, context.generationWatch.followed]).to.deep.equal([0, 0]);
  });

  it('answers the end of the generation with the next look', async () => {
    const waiting = wait(50_000);
    await harness.cancel(generationId);
    await harness.clock.advance(LOOK_EVERY_MS);
    expect((await waiting).status).to.equal('cancelled');
  });

  it('reports each look while the generation runs', async () => {
    const told: string[] = [];
    const waiting = wait(50_000, { onLook: ({ status }) => void told.push(status) });
    await harness.clock.advance(LOOK_EVERY_MS);
    await harness.clock.advance(LOOK_EVERY_MS);
    await harness.cancel(generationId);
    await harness.clock.advance(LOOK_EVERY_MS);
    await waiting;
    expect(told).to.deep.equal(['queued', 'queued']);
  });

  it('reads once a look, however many calls wait', async () => {
    const waiting = Array.from({ length: 20 }, () => wait(50_000));
    await harness.clock.advance(0);
    reads = 0;
    await harness.clock.advance(LOOK_EVERY_MS);
    expect(reads).to.equal(1);
    await harness.cancel(generationId);
    await harness.clock.advance(LOOK_EVERY_MS);
    expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).to.deep.equal(new Set(['cancelled']));
  });

  it('goes on after a read that failed', async () => {
    const waiting = wait(50_000);
    await harness.clock.advance(0);
    failures = 1;
    await harness.clock.advance(LOOK_EVERY_MS);
    await harness.cancel(generationId);
    await harness.clock.advance(LOOK_EVERY_MS);
    expect((await waiting).status).to.equal('cancelled');
  });

  describe('of a process that writes itself', () => {
    it('ends with the write, and without a look', async () => {
      const waiting = waitForGeneration(harness.context, harness.caller, generationId, { waitMs: 50_000 });
      await harness.clock.advance(0);
      await harness.cancel(generationId);
      expect((await waiting).status).to.equal('cancelled');
      expect(harness.context.generationWatch.followed).to.equal(0);
    });

    it('ends also with a write that came while the generation was read', async () => {
      let isFirst = true;
      const own: Context = harness.process(async (call) => {
        const answer = await call.proceed();
        if (call.name !== 'generations.read' || !isFirst) return answer;
        isFirst = false;
        await cancelGeneration(own, harness.caller, generationId);
        return answer;
      });
      const ended = await waitForGeneration(own, harness.caller, generationId, { waitMs: 50_000 });
      expect(ended.status).to.equal('cancelled');
    });

    it('reads ten times less often where no other process writes', async () => {
      const alone = harness.process(
        (call) => {
          if (call.name === 'generations.read') reads += 1;
          return call.proceed();
        },
        {},
        { id: harness.ports.ids.uuid(), isExclusive: true },
      );
      const waiting = waitForGeneration(alone, harness.caller, generationId, { waitMs: 21_000 });
      await harness.clock.advance(0);
      reads = 0;
      await harness.clock.advance(21_000);
      expect((await waiting).status).to.equal('queued');
      expect(reads, 'four looks, and what is answered').to.equal(5);
    });

    it('finds an end of which it knows nothing when it looks', async () => {
      const alone = harness.process(undefined, {}, { id: harness.ports.ids.uuid(), isExclusive: true });
      const waiting = waitForGeneration(alone, harness.caller, generationId, { waitMs: 50_000 });
      await harness.cancel(generationId);
      await harness.clock.advance(LOOK_SELDOM_MS);
      expect((await waiting).status).to.equal('cancelled');
    });
  });

  describe('that was just created', () => {
    it('needs no right to read others, and is answered though it cannot be read', async () => {
      failures = 1;
      const created = await harness.generation(generationId);
      const waiting = waitForEnd(context, created, { waitMs: LOOK_EVERY_MS / 2 });
      await harness.clock.advance(LOOK_EVERY_MS);
      expect(await waiting).to.deep.equal(created);
    });

    it('is answered as it is when it has ended, or nobody waits', async () => {
      const created = await harness.generation(generationId);
      expect(await waitForEnd(context, created, { waitMs: 0 })).to.equal(created);
      expect(await waitForEnd(context, created, { waitMs: 5, until: TestedCall.over() })).to.equal(created);
      const ended = await harness.cancel(generationId);
      expect(await waitForEnd(context, ended, { waitMs: 5 })).to.equal(ended);
      expect(reads).to.equal(0);
    });
  });
});

// Goal: no credential, App, account or crowd of them has more waits and streams in a process than its bound, and places come back.
// Method: places are taken up to each bound, given back in any order and twice.

const of = (accountId: string, appId: string, credentialId: string) => ({ accountId, appId, credentialId });
const refused = (work: () => unknown): Promise<string | undefined> => codeOf(Promise.resolve().then(work));

describe('calls that last', () => {
  let calls: LastingCalls;
  beforeEach(() => {
    calls = new LastingCalls();
  });

  /** Takes slots until there are none, and returns how many there were. */
  function filled(take: (index: number) => (() => void) | undefined, most = 100_000): (() => void)[] {
    const taken: (() => void)[] = [];
    for (let index = 0; index < most; index += 1) {
      try {
        const leave = take(index);
        if (leave === undefined) break;
        taken.push(leave);
      } catch {
        break;
      }
    }
    return taken;
  }

  it('are 5,000 of one credential, waits and streams together, and leave others their places', async () => {
    const one = of('account', 'app', 'one');
    const taken = filled((index) => (index % 2 === 0 ? calls.follow(one) : calls.tryWait(one)));
    expect(taken).to.have.length(5_000);
    expect(calls.tryWait(one)).to.equal(undefined);
    expect(await refused(() => calls.requireRoom(one))).to.equal('RATE_LIMITED');
    calls.requireRoom(of('account', 'app', 'other'));
    taken[0]?.();
    taken[0]?.();
    expect(filled(() => calls.tryWait(one))).to.have.length(1);
  });

  it('are 10,000 of one account, whatever its credentials, and leave others their places', async () => {
    const one = (index: number) => of('account', `app ${index % 7}`, `key ${index % 10}`);
    const taken = filled((index) => calls.tryWait(one(index)));
    expect(taken).to.have.length(10_000);
    expect(await refused(() => calls.follow(one(11)))).to.equal('RATE_LIMITED');
    expect(filled((index) => calls.tryWait(of('other', 'app', `other key ${index % 10}`)))).to.have.length(10_000);
    for (const leave of taken) leave();
    expect(filled((index) => calls.tryWait(one(index)))).to.have.length(10_000);
  });

  it('are 20,000 in all', () => {
    const one = (index: number) => of(`account ${index % 10}`, 'app', `key ${index % 10}`);
    expect(filled((index) => calls.tryWait(one(index)))).to.have.length(20_000);
    expect(calls.tryWait(of('another', 'app', 'another'))).to.equal(undefined);
  });

  it('are 32 streams of one App, whatever its credentials, 256 of one account, and 1,000 of all', async () => {
    const one = (index: number) => of('account', 'app', `key ${index}`);
    const taken = filled((index) => calls.followApp(one(index)));
    expect(taken).to.have.length(32);
    calls.requireRoom(one(0));
    expect(await refused(() => calls.requireRoomForApp(one(0)))).to.equal('RATE_LIMITED');
    const ofAccount = filled((index) => calls.followApp(of('account', `app ${index}`, 'key')));
    expect(ofAccount).to.have.length(256 - 32);
    calls.requireRoom(one(0));
    expect(await refused(() => calls.requireRoomForApp(of('account', 'new app', 'key')))).to.equal('RATE_LIMITED');
    const ofOthers = filled((index) => calls.followApp(of(`account ${index}`, `app ${index}`, `key ${index}`)));
    expect(ofOthers).to.have.length(1_000 - 256);
    for (const leave of [...taken, ...ofAccount]) leave();
    expect(filled((index) => calls.followApp(one(index)))).to.have.length(32);
  });

  it('end with what they are for: a wait beyond the bound answers what there is, a stream is refused', async () => {
    const harness = await CoreHarness.open();
    const { context, caller } = harness;
    const { generationId } = await harness.create();
    const taken = filled(() => context.lastingCalls.tryWait(caller));
    const waits = { waitMs: 60_000 };
    expect((await waitForGeneration(context, caller, generationId, waits)).status).to.equal('queued');
    const until = new TestedCall();
    const events = () => appEvents(context, caller, { beatMs: 1_000, until });
    await expectCode('RATE_LIMITED', events().next());
    for (const leave of taken) leave();
    const stream = events();
    await harness.clock.run(stream.next());
    await stream.return(undefined);
    const waiting = waitForGeneration(context, caller, generationId, waits);
    await harness.clock.advance(60_000);
    await waiting;
    expect(filled(() => context.lastingCalls.tryWait(caller))).to.have.length(5_000);
  });
});

// Goal: a waiting or following client learns of another process's write as soon as the store notifies, and within half a
// second while the store does not; reads are rare while it does.
// Method: two processes in memory on a store that notifies, is interrupted or loses a write; the test moves the clock.

const WAIT_MS = 60_000;

describe('writes of other processes', () => {
  let harness: CoreHarness;
  let telling: TellingGenerations;
  let writer: Context;
  let reader: Context;
  let asked: string[];

  beforeEach(async () => {
    harness = await CoreHarness.open();
    telling = new TellingGenerations(harness.ports.generations);
    asked = [];
    writer = harness.process(undefined, { generations: telling.store });
    reader = harness.process(
      async (call) => {
        asked.push(call.name);
        return call.proceed();
      },
      { generations: telling.store },
      undefined,
      telling,
    );
  });

  const asks = (name: string): number => asked.filter((one) => one === name).length;

  /** A waiting call on the reader, and how it ended. */
  function waitingFor({ generationId }: Generation): { ended: Generation | undefined; done: Promise<void> } {
    const waiting: { ended: Generation | undefined; done: Promise<void> } = {
      ended: undefined,
      done: Promise.resolve(),
    };
    waiting.done = waitForGeneration(reader, harness.caller, generationId, { waitMs: WAIT_MS }).then((ended) => {
      waiting.ended = ended;
    });
    return waiting;
  }

  const end = ({ generationId }: Generation) => cancelGeneration(writer, harness.caller, generationId);

  it('wake who waits at once', async () => {
    const generation = await harness.create();
    const waiting = waitingFor(generation);
    await harness.clock.advance(1);
    const reads = asks('generations.read');
    await end(generation);
    await harness.clock.advance(0);
    expect(waiting.ended?.status).to.equal('cancelled');
    expect(asks('generations.read'), 'the record came with the change').to.equal(reads);
    expect(telling.followed).to.equal(0);
  });

  it('reach followers of the App at once', async () => {
    const until = new TestedCall();
    const types: string[] = [];
    const all = (async () => {
      for await (const { type } of appEvents(reader, harness.caller, { beatMs: WAIT_MS, until })) types.push(type);
    })();
    await harness.clock.advance(1);
    const record = await harness.create();
    const runDeadlineAt = harness.clock.now() + record.terms.runTimeoutMs;
    await writer.generations.replace({ ...record, version: record.version + 1, runDeadlineAt }, record.version);
    await harness.clock.advance(0);
    expect(types).to.deep.equal(['beat', 'queued', 'running']);
    until.end();
    await harness.clock.run(all);
    expect(telling.followed).to.equal(0);
  });

  it('are looked for seldom while the store tells, once a look has found all of before', async () => {
    const waiting = waitingFor(await harness.create());
    await harness.clock.advance(LOOK_EVERY_MS + 1);
    const before = asks('generations.read');
    await harness.clock.advance(4 * LOOK_SELDOM_MS);
    expect(asks('generations.read') - before).to.equal(4);
    expect(waiting.ended).to.equal(undefined);
    await harness.clock.run(waiting.done);
  });

  it('are found though the store lost one without a word', async () => {
    const generation = await harness.create();
    const waiting = waitingFor(generation);
    await harness.clock.advance(LOOK_EVERY_MS + 1);
    telling.loses = true;
    await end(generation);
    await harness.clock.advance(LOOK_SELDOM_MS);
    expect(waiting.ended?.status).to.equal('cancelled');
  });

  it('are found within half a second from an interruption until a look after its end', async () => {
    const [first, second, third] = [await harness.create(), await harness.create(), await harness.create()];
    const waits = [first, second, third].map(waitingFor);
    await harness.clock.advance(2 * LOOK_SELDOM_MS + 1);
    telling.interrupt();
    await end(first);
    await harness.clock.advance(LOOK_EVERY_MS);
    expect(waits[0]?.ended?.status).to.equal('cancelled');
    await end(second);
    telling.reopen();
    await harness.clock.advance(LOOK_EVERY_MS);
    expect(waits[1]?.ended?.status).to.equal('cancelled');
    await end(third);
    await harness.clock.advance(0);
    expect(waits[2]?.ended?.status).to.equal('cancelled');
  });

  it('of an App are found in the same way, and its lists are seldom while the store tells', async () => {
    const until = new TestedCall();
    const types: string[] = [];
    const all = (async () => {
      for await (const { type } of appEvents(reader, harness.caller, { beatMs: 10 * WAIT_MS, until })) types.push(type);
    })();
    await harness.clock.advance(LOOK_EVERY_MS + 1);
    const before = asks('generations.list');
    await harness.clock.advance(2 * LOOK_SELDOM_MS);
    const aLook = (asks('generations.list') - before) / 2;
    telling.interrupt();
    const generation = await harness.create();
    await end(generation);
    await harness.clock.advance(LOOK_EVERY_MS);
    expect(types).to.deep.equal(['beat', 'queued', 'cancel_requested', 'ended']);
    expect(aLook, 'two of what is open, one of what is new').to.equal(3);
    until.end();
    await harness.clock.run(all);
  });

  it('are followed once a watch, and by nobody when nobody waits', async () => {
    expect(telling.followed).to.equal(0);
    const waits = [waitingFor(await harness.create()), waitingFor(await harness.create())];
    await harness.clock.advance(1);
    expect(telling.followed).to.equal(1);
    await harness.clock.advance(WAIT_MS);
    await Promise.all(waits.map(({ done }) => done));
    expect(telling.followed).to.equal(0);
  });
});

generationChangesContract({
  name: 'the store of these tests',
  supports: {},
  open: async () => {
    const changes = new TellingGenerations((await CoreHarness.open()).ports.generations);
    return { changes, own: changes.store, other: changes.store };
  },
  close: async () => undefined,
});
