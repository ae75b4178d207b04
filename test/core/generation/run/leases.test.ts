import { expect } from 'chai';
import type { Context } from '../../../../core/context.js';
import { StoreUnavailable } from '../../../../core/errors.js';
import type { GenerationCommand } from '../../../../core/generation/decide.js';
import { type Generation, isTerminal } from '../../../../core/generation/generation.js';
import { LeaseHolder, LeaseLost, takeLease } from '../../../../core/generation/run/lease.js';
import { changeGeneration } from '../../../../core/generation/settle-generation.js';
import type { WakeUpSubject } from '../../../../core/ports/wake-ups.js';
import { Recovery } from '../../../../core/recovery/recover.js';
import { streamOf } from '../../../fixtures/byte-streams.js';
import { withWallTime } from '../../../fixtures/clocks.js';
import { Gate, type Interceptor } from '../../../fixtures/intercepted.js';
import { imageModel } from '../../../fixtures/models.js';
import { plainImage } from '../../../fixtures/plain-media.js';
import { expectAtRest } from '../../../fixtures/recovery-passes.js';
import { connectedProviders, imagesOf, PROMISES, ScriptedProvider } from '../../../fixtures/scripted-provider.js';
import { CoreHarness, CoreWorker, Life, untilSettled } from '../../../harness/core-harness.js';

// Goal: once another worker has a generation, every write of the first worker fails, wherever it was interrupted; the
// work continues where it was; a provider report after the end changes nothing.
// Method: a worker pauses at each of its store calls in turn until its lease has lapsed and another worker has
// continued or finished; then it resumes.

/** Pauses at the call with this number; from then on every call waits, timers' calls too, as in a stopped process. */
function stoppedAt(index: number, side: 'before' | 'after', gate: Gate): Interceptor {
  let calls = 0;
  return async (call) => {
    const number = calls;
    calls += 1;
    if (number > index || (number === index && side === 'before')) await gate.wait();
    const answer = await call.proceed();
    if (number === index && side === 'after') await gate.wait();
    return answer;
  };
}

/** Each read of an output returns different bytes, so that a late write over a delivered one is detected. */
function returnOtherBytesEachTime({ provider }: CoreHarness): void {
  let reads = 0;
  provider.onOutput = async () => {
    reads += 1;
    return streamOf(plainImage(64, 64, 'image/png', `${reads}`));
  };
}

async function expectStillDelivered(harness: CoreHarness, before: Generation): Promise<void> {
  const after = await untilSettled(harness, before.generationId);
  expect([after.fence, after.status, after.chargedCredits, after.outputs, after.updatedAt]).to.deep.equal([
    before.fence,
    before.status,
    before.chargedCredits,
    before.outputs,
    before.updatedAt,
  ]);
  expect(harness.provider.tasks.size, 'the provider made it once').to.equal(1);
  for (const output of after.outputs) {
    const stored = await harness.ports.digests.ofBytes(
      (await harness.ports.objects.read(output.objectKey)) ?? streamOf(new Uint8Array()),
    );
    expect(stored.sha256, 'the delivered bytes are as they were').to.equal(output.sha256);
  }
  expect((await harness.account()).spent).to.equal(20);
}

async function overtakenAt(index: number, side: 'before' | 'after'): Promise<boolean> {
  const harness = await CoreHarness.open();
  const gate = new Gate();
  returnOtherBytesEachTime(harness);
  const { generationId } = await harness.create({ count: 2 });
  const first = CoreWorker.idle(harness, 'first', stoppedAt(index, side, gate));
  const delivered = first.dispatcher.deliver(generationId).catch(() => undefined);
  await harness.clock.advance(harness.settings.leaseMs + 1_000);
  const second = CoreWorker.idle(harness, 'second');
  await second.dispatcher.deliver(generationId);
  await harness.clock.advance(10_000);
  const before = await harness.generation(generationId);
  expect(before.status, `call ${index}, ${side}`).to.equal('succeeded');
  gate.open();
  await harness.clock.run(delivered);
  await harness.clock.advance(10_000);
  await expectStillDelivered(harness, before);
  await expectAtRest(harness, 1);
  return gate.reached;
}

describe('leases', () => {
  it('prevent every write of a worker that was suspended past its own, wherever it paused', async () => {
    let reached = 0;
    for (let index = 0; index < 20; index += 1) {
      for (const side of ['before', 'after'] as const) reached += Number(await overtakenAt(index, side));
    }
    expect(reached, 'the worker was held at its calls').to.be.at.least(25);
  });

  it('prevent a worker that lost its own from collecting under the next one, when it was asking the provider to stop', async () => {
    const harness = await CoreHarness.open();
    returnOtherBytesEachTime(harness);
    const [stopped, asked] = [new Gate(), new Gate()];
    let isStopped = false;
    const first = CoreWorker.idle(harness, 'first', async (call) => {
      if (isStopped) await stopped.wait();
      return call.proceed();
    });
    harness.provider.newReport = () => ({ state: 'running', pollAfterMs: 1_000 });
    harness.provider.onCancel = (task) => {
      if (task.cancels > 1) return undefined;
      isStopped = true;
      return asked.wait();
    };
    const { generationId } = await harness.create({ count: 2 });
    const delivered = first.dispatcher.deliver(generationId).catch(() => undefined);
    await harness.clock.advance(100);
    await harness.cancel(generationId);
    await harness.clock.advance(2_000);
    expect(asked.reached, 'the first worker asks the provider to stop').to.equal(true);
    harness.provider.onlyTask.report = { state: 'succeeded', outputs: imagesOf(2) };
    await harness.clock.advance(harness.settings.leaseMs);
    await CoreWorker.idle(harness, 'second').dispatcher.deliver(generationId);
    await harness.clock.advance(10_000);
    const before = await harness.generation(generationId);
    expect([before.status, before.fence]).to.deep.equal(['succeeded', 2]);
    const { polls } = harness.provider.onlyTask;
    stopped.open();
    await harness.clock.run(delivered);
    expect(harness.provider.onlyTask.polls, 'the first worker hears that the task is done').to.be.above(polls);
    await expectStillDelivered(harness, before);
  });

  it('are renewed for as long as the provider takes', async () => {
    const harness = await CoreHarness.open();
    const [first, second] = [await CoreWorker.start(harness, 'first'), await CoreWorker.start(harness, 'second')];
    harness.provider.newReport = () => ({ state: 'running', pollAfterMs: 200_000 });
    const { generationId } = await harness.create();
    await harness.clock.advance(1_000);
    const recovery = new Recovery(harness.context);
    for (let minute = 0; minute < 5; minute += 1) {
      await harness.clock.advance(60_000);
      await harness.clock.run(recovery.pass());
      for (const worker of [first, second]) await worker.dispatcher.deliver(generationId);
    }
    expect((await harness.generation(generationId)).fence).to.equal(1);
    expect(first.dispatcher.counts.running + second.dispatcher.counts.running).to.equal(1);
  });

  it('lapse with their worker, and recovery wakes another one that continues the same task', async () => {
    const harness = await CoreHarness.open();
    const life = new Life();
    const dying = await CoreWorker.start(harness, 'dying', life.interceptor);
    harness.provider.newReport = () => ({ state: 'running' });
    const { generationId } = await harness.create();
    await harness.clock.advance(5_000);
    await dying.context.wakeUps.stop();
    life.isDead = true;
    await harness.clock.advance(harness.settings.leaseMs + 2_000);
    await CoreWorker.start(harness, 'second');
    await harness.clock.run(new Recovery(harness.context).pass());
    await harness.clock.advance(1_000);
    expect((await harness.generation(generationId)).lease?.worker).to.equal('second');
    harness.provider.onlyTask.report = { state: 'succeeded', outputs: imagesOf(1) };
    const g = await untilSettled(harness, generationId);
    expect([g.status, g.attemptsMade, harness.provider.submissions.length]).to.deep.equal(['succeeded', 1, 1]);
  });

  it('let a success after the end be recorded, and change nothing else', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ runTimeoutMs: 60_000 })] });
    const gate = new Gate();
    const worker = CoreWorker.idle(harness, 'slow', async (call) => {
      if (call.name === 'objects.read') await gate.wait();
      return call.proceed();
    });
    const { generationId } = await harness.create();
    // The clock jumps past lease and deadline while the output is in transfer; recovery ends the generation.
    await worker.dispatcher.deliver(generationId);
    await harness.clock.advance(10);
    expect(gate.reached).to.equal(true);
    harness.clock.jump(70_000);
    const recovery = new Recovery(harness.context);
    await recovery.pass();
    expect((await harness.generation(generationId)).status, 'a worker may still collect a result').to.equal('running');
    harness.clock.jump(2 * harness.settings.providerCallMs + 10_000);
    await recovery.pass();
    const ended = await harness.generation(generationId);
    expect([ended.status, ended.error?.code, isTerminal(ended.status)]).to.deep.equal(['failed', 'TASK_TIMEOUT', true]);
    gate.open();
    await harness.clock.advance(0);
    const after = await harness.generation(generationId);
    expect(after.lateReport?.state).to.equal('succeeded');
    expect([after.status, after.chargedCredits, after.updatedAt, after.outputs]).to.deep.equal([
      'failed',
      0,
      ended.updatedAt,
      [],
    ]);
    await expectAtRest(harness, 1);
  });
});

// Goal: a holder can continue under a new fence, which shuts out every write sent under the old one; a holder that was
// overtaken, or does not know which fence counts, writes nothing any more.
// Method: one holder on memory adapters, overtaken or with the answer of its write lost; the record is read again.

describe('a lease that is taken again by its holder', () => {
  let harness: CoreHarness;
  let generationId: string;
  let holder: LeaseHolder;
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );

  async function hold(context: Context): Promise<void> {
    const taken = await takeLease(context, 'first', generationId, 'scripted');
    if (taken === null || 'needsRoom' in taken) expect.fail('there is a lease to take');
    holder = new LeaseHolder(context, taken.generation, taken.leasedAt, () => undefined);
  }

  beforeEach(async () => {
    harness = await CoreHarness.open();
    ({ generationId } = await harness.create());
  });
  afterEach(() => holder.end());

  it('has the next fence and its whole time; the old fence is invalid, and the holder renews the new one', async () => {
    await hold(harness.context);
    harness.clock.jump(5_000);
    const g = await holder.reLease();
    const { leaseMs } = harness.settings;
    const {
      clock,
      context: { boot },
    } = harness;
    expect([g.fence, g.lease]).to.deep.equal([
      2,
      { worker: 'first', fence: 2, renewedAt: clock.now(), expiresAt: clock.now() + leaseMs, bootId: boot.id },
    ]);
    expect(await changeGeneration(harness.context, g, { event: 'renew', leaseMs, fence: 1 })).to.have.property(
      'refused',
      'FENCE_STALE',
    );
    await harness.clock.advance(3 * leaseMs);
    expect((await harness.generation(generationId)).lease).to.include({ worker: 'first', fence: 2 });
    expect(await holder.write({ event: 'accepted', reference: 'r' })).to.not.have.property('refused');
  });

  it('is refused to an overtaken holder, which then can write nothing', async () => {
    await hold(harness.context);
    harness.clock.jump(harness.settings.leaseMs);
    await takeLease(harness.context, 'second', generationId, 'scripted');
    const before = await harness.generation(generationId);
    expect(before.lease).to.include({ worker: 'second', fence: 2 });
    expect(await failure(holder.reLease())).to.be.instanceOf(LeaseLost);
    // The holder now knows the newest version, but the only fence it may use is its own.
    expect(await failure(holder.reLease())).to.be.instanceOf(LeaseLost);
    expect(await failure(holder.write({ event: 'accepted', reference: 'r' }))).to.be.instanceOf(LeaseLost);
    expect(await harness.generation(generationId)).to.deep.equal(before);
  });

  it('shows an overtaken holder no version of the next one', async () => {
    await hold(harness.context);
    harness.clock.jump(harness.settings.leaseMs);
    await takeLease(harness.context, 'second', generationId, 'scripted');
    expect(holder.generation.fence).to.equal(1);
    await harness.clock.advance(harness.settings.leaseMs);
    expect(() => holder.generation).to.throw(LeaseLost);
  });

  it('permits no write when the answer was lost', async () => {
    let isLost = false;
    await hold(
      harness.process(async (call) => {
        const answer = await call.proceed();
        if (call.name !== 'generations.replace' || isLost || (call.args[0] as { fence: number }).fence !== 2)
          return answer;
        isLost = true;
        throw new StoreUnavailable('The answer was lost.');
      }),
    );
    expect(await failure(holder.reLease())).to.be.instanceOf(StoreUnavailable);
    const before = await harness.generation(generationId);
    expect(before.fence).to.equal(2);
    expect(await failure(holder.write({ event: 'accepted', reference: 'r' }))).to.be.instanceOf(LeaseLost);
    expect(await harness.generation(generationId)).to.deep.equal(before);
  });

  for (const isOvertaken of [false, true]) {
    it(`is ${isOvertaken ? "not taken for the holder's that was overtaken" : 'found by its holder'}, when the answer was lost and it asks again`, async () => {
      let isLost = false;
      await hold(
        harness.process(async (call) => {
          const answer = await call.proceed();
          if (isLost || call.name !== 'generations.replace' || (call.args[0] as { fence: number }).fence !== 2)
            return answer;
          isLost = true;
          throw new StoreUnavailable('The answer was lost.');
        }),
      );
      expect(await failure(holder.reLease())).to.be.instanceOf(StoreUnavailable);
      // Renewals meanwhile do not take it for lost.
      await harness.clock.advance(harness.settings.leaseMs / 2);
      if (isOvertaken) {
        harness.clock.jump(harness.settings.leaseMs);
        await takeLease(harness.context, 'second', generationId, 'scripted');
        expect(await failure(holder.reLease())).to.be.instanceOf(LeaseLost);
        return;
      }
      expect((await holder.reLease()).fence).to.equal(2);
      expect(await holder.write({ event: 'accepted', reference: 'r' })).to.not.have.property('refused');
    });
  }
});

// Goal: a generation that lost its worker continues before newer ones start, in every queue and after any number of
// lost wake-ups, because its run deadline does not pause.
// Method: a worker dies in the middle of a run, and another worker has more to start than it has places; the test
// checks what it runs next.

interface Cut {
  readonly harness: CoreHarness;
  readonly second: CoreWorker;
  readonly cut: string;
  readonly younger: readonly string[];
}

/**
 * One run was interrupted and its lease has lapsed; another worker's only place is taken, and more generations of the
 * same account wait.
 */
async function cutRun(): Promise<Cut> {
  const harness = await CoreHarness.open({ models: [imageModel({ concurrency: 1, concurrencyPerAccount: 1 })] });
  harness.provider.newReport = () => ({ state: 'running' });
  const life = new Life();
  const first = CoreWorker.idle(harness, 'first', life.interceptor);
  const second = CoreWorker.idle(harness, 'second');
  const { generationId: cut } = await harness.create();
  void first.dispatcher.deliver(cut);
  await harness.clock.advance(100);
  life.isDead = true;
  const younger: string[] = [];
  for (let made = 0; made < 4; made += 1) younger.push((await harness.create()).generationId);
  for (const id of younger) void second.dispatcher.deliver(id);
  await harness.clock.advance(harness.settings.leaseMs + 2_000);
  expect((await harness.generation(cut)).lease?.worker).to.equal('first');
  return { harness, second, cut, younger };
}

function endTasks(harness: CoreHarness): void {
  for (const task of harness.provider.tasks.values()) task.report = { state: 'succeeded', outputs: imagesOf(1) };
}

describe('a generation that lost its worker', () => {
  it('gets the next place before newer ones of its account that have waited for it', async () => {
    const { harness, second, cut, younger } = await cutRun();
    void second.dispatcher.deliver(cut);
    await harness.clock.advance(100);
    expect(harness.provider.submissions.map(({ generationId }) => generationId)).to.deep.equal([cut, younger[0]]);
    endTasks(harness);
    await harness.clock.advance(10_000);
    expect((await harness.generation(cut)).status, 'taken over').to.equal('succeeded');
    expect((await harness.generation(younger[1] ?? '')).fence, 'and the next one after it').to.equal(1);
    expect((await harness.generation(younger[2] ?? '')).fence).to.equal(0);
  });

  it('also comes first when it had been waiting for its start in the same queue', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ concurrency: 1, concurrencyPerAccount: 1 })] });
    harness.provider.newReport = () => ({ state: 'running' });
    const life = new Life();
    const [first, second] = [CoreWorker.idle(harness, 'first', life.interceptor), CoreWorker.idle(harness, 'second')];
    const ids: string[] = [];
    for (let made = 0; made < 5; made += 1) ids.push((await harness.create()).generationId);
    for (const id of ids) void second.dispatcher.deliver(id);
    await harness.clock.advance(100);
    // The last one in the second worker's queue starts in the first worker, which dies.
    const cut = ids[4] ?? '';
    void first.dispatcher.deliver(cut);
    await harness.clock.advance(100);
    life.isDead = true;
    await harness.clock.advance(harness.settings.leaseMs + 2_000);
    void second.dispatcher.deliver(cut);
    await harness.clock.advance(100);
    endTasks(harness);
    await harness.clock.advance(10_000);
    expect((await harness.generation(cut)).status).to.equal('succeeded');
    expect((await harness.generation(ids[1] ?? '')).fence).to.equal(1);
    expect((await harness.generation(ids[2] ?? '')).fence).to.equal(0);
  });

  it('is woken again after a lease when the woken worker died too, and a queued one after a minute', async () => {
    const { harness, cut, younger } = await cutRun();
    const woken: [string, number][] = [];
    const recovery = new Recovery(
      harness.process(async (call) => {
        if (call.name === 'wakeUps.schedule') woken.push([(call.args[0] as WakeUpSubject).id, call.args[1] as number]);
        return call.proceed();
      }),
    );
    await harness.clock.run(recovery.pass());
    const { createdAt } = await harness.generation(cut);
    expect(woken).to.deep.include([cut, createdAt]);
    woken.length = 0;
    await harness.clock.advance(harness.settings.leaseMs + 1);
    await harness.clock.run(recovery.pass());
    expect(woken).to.deep.equal([[cut, createdAt]]);
    await harness.clock.advance(60_000);
    await harness.clock.run(recovery.pass());
    expect(woken.map(([id]) => id)).to.include.members([younger[1], younger[2], younger[3]]);
  });
});

// Goal: a worker that takes the lease of a generation queries the provider that has its task, even if another worker
// started an attempt elsewhere after the generation was read; so nothing is submitted to two providers.
// Method: two providers; right before the second worker writes its lease, another one, whose clock is 50 s behind, submits to
// the other provider.

const BEHIND_MS = 50_000;

describe('a generation whose attempt another worker begins elsewhere while its lease is taken', () => {
  for (const isAnswered of [true, false]) {
    it(`stays at that provider, ${isAnswered ? 'which has taken the task' : 'which may have the task'}`, async () => {
      const [first, second] = [new ScriptedProvider(), new ScriptedProvider()];
      const harness = await CoreHarness.open({
        models: [
          imageModel({
            route: ['first', 'second'].map((provider, index) => ({ provider, settings: {}, weight: 1 - index })),
            onUnknownAcceptance: 'fail',
          }),
        ],
        ports: { providers: connectedProviders({ first, second }) },
      });
      const { clock, settings } = harness;
      const behind = harness.process(undefined, { clock: withWallTime(clock, () => clock.now() - BEHIND_MS) });
      let g: Generation = await harness.create();
      const change = async (command: GenerationCommand, context = harness.context) => {
        const { generation, refused } = await changeGeneration(context, g, command);
        expect(refused, command.event).to.equal(undefined);
        g = generation;
      };
      const lease = { worker: 'behind', leaseMs: settings.leaseMs };
      await change({ event: 'start', token: 'refused', provider: 'first', ...lease });
      await change({ event: 'attempt-undone', retryAt: 0, fence: 1 });
      let hasSubmitted = false;
      const submitElsewhere = async () => {
        hasSubmitted = true;
        await change({ event: 'take-over', ...lease }, behind);
        await change({ event: 'begin-attempt', token: 'paid', provider: 'second', fence: 2 }, behind);
        const { reference } = second.take({ token: 'paid', generationId: g.generationId, parameters: {} } as never);
        if (isAnswered) await change({ event: 'accepted', reference, fence: 2 }, behind);
      };
      const worker = CoreWorker.idle(harness, 'worker', async (call) => {
        if (call.name === 'generations.replace' && !hasSubmitted) await submitElsewhere();
        return call.proceed();
      });
      void worker.dispatcher.deliver(g.generationId);
      await worker.context.wakeUps.start(({ id }) => worker.dispatcher.deliver(id), 10_000);
      const ended = await untilSettled(harness, g.generationId);
      expect([hasSubmitted, first.submissions.length, first.recovers, second.submissions.length]).to.deep.equal([
        true,
        0,
        0,
        0,
      ]);
      expect([ended.status, ended.attempt?.token, ended.chargedCredits]).to.deep.equal(['succeeded', 'paid', 10]);
    });
  }
});

// Goal: a wall clock that is set back two hours, or ahead, delays no task and submits none twice.
// Method: the clock is set while a run waits in each of the ways in which it can wait; the monotonic time until the next
// step is compared with what the wait may take.

const TWO_HOURS_MS = 2 * 3_600_000;
/** A day, so that no deadline ends a task, whatever the clock is set to. */
const RUN_MS = 24 * 3_600_000;

interface Wait {
  readonly what: string;
  /** Sets up the provider before the clock is set. */
  readonly arrange: (harness: CoreHarness) => void;
  /** Runs after the clock was set. */
  readonly once?: (harness: CoreHarness, generationId: string) => unknown;
  /** How long after the clock was set the generation may take to end, in milliseconds. */
  readonly mostMs: number;
  readonly status?: Generation['status'];
}

const WAITS: readonly Wait[] = [
  {
    what: 'a submission that never answers',
    arrange: ({ provider }) => void (provider.submitScript = ['hang', 'accept']),
    mostMs: 70_000,
  },
  {
    what: 'a poll that never answers',
    arrange: ({ provider }) => void (provider.pollHangs = true),
    once: ({ provider }) => void (provider.pollHangs = false),
    mostMs: 70_000,
  },
  {
    what: 'the next poll',
    arrange: ({ provider }) => void (provider.newReport = () => ({ state: 'running', pollAfterMs: 50_000 })),
    once: ({ provider }) => void (provider.onlyTask.report = { state: 'succeeded', outputs: imagesOf(1) }),
    mostMs: 60_000,
  },
  {
    what: 'the next attempt',
    arrange: ({ provider }) =>
      void (provider.submitScript = [
        { refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'Busy.', mayRetry: true, retryAfterMs: 50_000 } },
        'accept',
      ]),
    mostMs: 60_000,
  },
  {
    what: 'capacity',
    arrange: ({ provider }) =>
      void (provider.submitScript = [
        {
          refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'Full.', mayRetry: true, retryAfterMs: 50_000 },
          because: 'capacity',
        },
        'accept',
      ]),
    mostMs: 60_000,
  },
  {
    what: 'the second statement that there is no such task',
    arrange: ({ provider }) => {
      provider.promised = { ...PROMISES, settleMs: 20_000 };
      provider.submitScript = ['throw', 'accept'];
    },
    mostMs: 50_000,
  },
  {
    what: 'the grace after a cancel',
    arrange: ({ provider }) => {
      provider.newReport = () => ({ state: 'running' });
      provider.onCancel = () => undefined;
    },
    once: (harness, generationId) => harness.cancel(generationId),
    mostMs: 70_000,
    status: 'cancelled',
  },
];

async function started(arrange: Wait['arrange']): Promise<{ harness: CoreHarness; generationId: string }> {
  const model = imageModel({ runTimeoutMs: RUN_MS, onUnknownAcceptance: 'fail' });
  const harness = await CoreHarness.open({ models: [model] });
  await CoreWorker.start(harness);
  arrange(harness);
  const { generationId } = await harness.create();
  await harness.clock.advance(5_000);
  return { harness, generationId };
}

describe('a clock that is set', () => {
  for (const [where, byMs] of [
    ['back two hours', -TWO_HOURS_MS],
    ['ahead two hours', TWO_HOURS_MS],
  ] as const) {
    for (const { what, arrange, once, mostMs, status = 'succeeded' } of WAITS) {
      it(`${where} does not prolong the wait for ${what}`, async () => {
        const { harness, generationId } = await started(arrange);
        harness.clock.jump(byMs);
        const from = harness.clock.monotonic();
        await once?.(harness, generationId);
        const g = await untilSettled(harness, generationId);
        expect(g.status).to.equal(status);
        expect(harness.clock.monotonic() - from).to.be.at.most(mostMs);
        expect(harness.provider.tasks.size, 'tasks made').to.equal(1);
      });
    }
  }
});
