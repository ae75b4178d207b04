import { expect } from 'chai';
import { Worker } from '../../../../apps/worker/worker.js';
import { cancelGeneration } from '../../../../core/generation/end-generation.js';
import type { Generation } from '../../../../core/generation/generation.js';
import { WorkerStopping } from '../../../../core/generation/run/dispatcher.js';
import { Recovery } from '../../../../core/recovery/recover.js';
import { withWallTime } from '../../../fixtures/clocks.js';
import { Gate } from '../../../fixtures/intercepted.js';
import { expectBooksRight } from '../../../fixtures/ledgers.js';
import { imageModel } from '../../../fixtures/models.js';
import { expectAtRest } from '../../../fixtures/recovery-passes.js';
import { imagesOf } from '../../../fixtures/scripted-provider.js';
import { CoreHarness, CoreWorker, untilEnded, untilSettled } from '../../../harness/core-harness.js';

// Goal: a cancel answered with "cancelled" costs nothing, and nothing is submitted after it; a running generation is
// asked to stop, ends in time however its provider behaves, and is charged by the rules.
// Method: cancels before, during and after the submission, with providers that stop, ignore the cancel or deliver
// anyway.

async function expectSettled(harness: CoreHarness, g: Generation, status: string, charged: number): Promise<void> {
  expect([g.status, g.chargedCredits]).to.deep.equal([status, charged]);
  expect(await harness.account()).to.include({ spent: charged, available: 1_000 - charged, reserved: 0 });
  expectBooksRight(await harness.account(), await harness.entries());
}

async function running(
  changes: Parameters<typeof imageModel>[0] = {},
): Promise<{ harness: CoreHarness; generationId: string }> {
  const harness = await CoreHarness.open({ models: [imageModel({ cancelFloorCredits: 4, ...changes })] });
  await CoreWorker.start(harness);
  harness.provider.newReport = () => ({ state: 'running' });
  const { generationId } = await harness.create({ count: 3 });
  await harness.clock.advance(2_500);
  expect((await harness.generation(generationId)).attempt?.phase).to.equal('submitted');
  return { harness, generationId };
}

describe('cancel', () => {
  it('of a queued generation takes effect immediately, costs nothing, and prevents any submission', async () => {
    const harness = await CoreHarness.open();
    const { generationId } = await harness.create();
    const g = await harness.cancel(generationId);
    expect(g).to.include({ status: 'cancelled', completedAt: harness.clock.now(), settledAt: harness.clock.now() });
    await CoreWorker.start(harness);
    await harness.clock.advance(100_000);
    expect(harness.provider.submissions).to.have.length(0);
    await expectSettled(harness, await harness.generation(generationId), 'cancelled', 0);
  });

  it('may be repeated and changes nothing more', async () => {
    const harness = await CoreHarness.open();
    const { generationId } = await harness.create();
    const first = await harness.cancel(generationId);
    await harness.clock.advance(5_000);
    expect(await harness.cancel(generationId)).to.deep.equal(first);
  });

  it('of one that succeeded changes nothing', async () => {
    const harness = await CoreHarness.open();
    await CoreWorker.start(harness);
    const before = await untilSettled(harness, (await harness.create()).generationId);
    expect(await harness.cancel(before.generationId)).to.deep.equal(before);
  });

  it('of one whose provider then fails on its own costs nothing, with any floor', async () => {
    const { harness, generationId } = await running();
    harness.provider.onCancel = (task) => {
      task.report = { state: 'failed', failure: { code: 'INTERNAL_ERROR', message: 'It broke.', mayRetry: true } };
    };
    await harness.cancel(generationId);
    await expectSettled(harness, await untilSettled(harness, generationId), 'cancelled', 0);
  });

  it('between the lease and the submission stops it, unsubmitted and free', async () => {
    const gate = new Gate();
    const harness = await CoreHarness.open({ models: [imageModel({ cancelFloorCredits: 4 })] });
    let reads = 0;
    await CoreWorker.start(harness, 'worker', async (call) => {
      // The third read is the run's first read of its leased generation.
      if (call.name === 'generations.read') reads += 1;
      if (call.name === 'generations.read' && reads === 3) await gate.wait();
      return call.proceed();
    });
    const { generationId } = await harness.create();
    await harness.clock.advance(1);
    expect([gate.reached, (await harness.cancel(generationId)).status]).to.deep.equal([true, 'running']);
    gate.open();
    await expectSettled(harness, await untilSettled(harness, generationId), 'cancelled', 0);
    expect(harness.provider.submissions).to.have.length(0);
  });

  it('while the submission is under way stops the task once it is known', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ cancelFloorCredits: 4 })] });
    await CoreWorker.start(harness);
    harness.provider.newReport = () => ({ state: 'running' });
    harness.provider.onSubmit = ({ generationId }) => void harness.cancel(generationId);
    const { generationId } = await harness.create();
    await expectSettled(harness, await untilSettled(harness, generationId), 'cancelled', 4);
    expect(harness.provider.onlyTask.cancels).to.equal(1);
  });

  it('while the outcome of the submission is unknown does not hand it over again', async () => {
    const harness = await CoreHarness.open();
    await CoreWorker.start(harness);
    harness.provider.submitScript = ['throw'];
    harness.provider.onSubmit = ({ generationId }) => void harness.cancel(generationId);
    await expectSettled(harness, await untilSettled(harness, (await harness.create()).generationId), 'cancelled', 0);
    expect(harness.provider.submissions).to.have.length(1);
  });

  it('after the submission stops the task, at the price of what was delivered', async () => {
    const { harness, generationId } = await running();
    harness.provider.onCancel = (task) => {
      task.report = { state: 'cancelled', outputs: imagesOf(1) };
    };
    const answer = await harness.cancel(generationId);
    expect([answer.status, answer.chargedCredits]).to.deep.equal(['running', 0]);
    const g = await untilSettled(harness, generationId);
    await expectSettled(harness, g, 'cancelled', 10);
    expect(g.outputs).to.have.length(1);
  });

  it("after the submission costs the model's floor when nothing was delivered", async () => {
    const { harness, generationId } = await running();
    await harness.cancel(generationId);
    await expectSettled(harness, await untilSettled(harness, generationId), 'cancelled', 4);
  });

  it('ends after the grace when the provider ignores it, and later answers change nothing', async () => {
    const { harness, generationId } = await running();
    harness.provider.onCancel = () => undefined;
    const at = harness.clock.now();
    await harness.cancel(generationId);
    const g = await untilSettled(harness, generationId);
    expect((g.completedAt ?? 0) - at).to.be.within(
      harness.settings.cancelGraceMs,
      harness.settings.cancelGraceMs + 2_000,
    );
    harness.provider.onlyTask.report = { state: 'succeeded', outputs: imagesOf(3) };
    await harness.clock.advance(60_000);
    await expectSettled(harness, await harness.generation(generationId), 'cancelled', 4);
  });

  for (const [what, aheadMs] of [
    ['ahead', 50_000],
    ['behind', -50_000],
  ] as const) {
    it(`leaves the provider its whole grace and no more, though the clock of the process that was asked is ${what}`, async () => {
      const { harness, generationId } = await running();
      harness.provider.onCancel = () => undefined;
      const at = harness.clock.now();
      const clock = withWallTime(harness.clock, () => harness.clock.now() + aheadMs);
      await cancelGeneration(harness.process(undefined, { clock }), harness.caller, generationId);
      await expectSettled(harness, await untilSettled(harness, generationId), 'cancelled', 4);
      expect(harness.clock.now() - at).to.be.within(
        harness.settings.cancelGraceMs,
        harness.settings.cancelGraceMs + 2_000,
      );
    });
  }

  it('of one whose provider succeeds all the same leaves a success, charged as one', async () => {
    const { harness, generationId } = await running();
    harness.provider.onCancel = (task) => {
      task.report = { state: 'succeeded', outputs: imagesOf(3) };
    };
    await harness.cancel(generationId);
    await expectSettled(harness, await untilSettled(harness, generationId), 'succeeded', 30);
  });

  it('reaches a long-sleeping run in another process by its next renewal', async () => {
    const { harness, generationId } = await running();
    harness.provider.onlyTask.report = { state: 'running', pollAfterMs: 500_000 };
    await harness.clock.advance(2_000);
    const at = harness.clock.now();
    const elsewhere = harness.process(async (call) => (call.name === 'wakeUps.schedule' ? undefined : call.proceed()));
    await cancelGeneration(elsewhere, harness.caller, generationId);
    const g = await untilEnded(harness, generationId);
    expect((g.completedAt ?? 0) - at).to.be.at.most(harness.settings.leaseMs);
  });

  it('ends the wait for another attempt', async () => {
    const harness = await CoreHarness.open({ settings: { retryBaseMs: 60_000 } });
    await CoreWorker.start(harness);
    harness.provider.submitScript = [{ refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'Busy.', mayRetry: true } }];
    const { generationId } = await harness.create();
    await harness.clock.advance(1_000);
    await harness.cancel(generationId);
    await harness.clock.advance(1_000);
    await expectSettled(harness, await harness.generation(generationId), 'cancelled', 0);
    expect(harness.provider.submissions).to.have.length(1);
  });

  it('answers alike for a foreign, a random and a malformed id', async () => {
    const harness = await CoreHarness.open();
    const { generationId } = await harness.create();
    const other = await harness.newCaller(10);
    const sibling = { ...harness.caller, appId: other.appId };
    for (const [caller, id] of [
      [other, generationId],
      [sibling, generationId],
      [harness.caller, '01900000-0000-7000-8000-00000000ffff'],
      [harness.caller, 'x'],
    ] as const) {
      const error = (await cancelGeneration(harness.context, caller, id).catch((refusal: unknown) => refusal)) as Error;
      expect([(error as Error & { code?: string }).code, error.message]).to.deep.equal([
        'TASK_NOT_FOUND',
        'There is no such generation.',
      ]);
    }
    expect((await harness.generation(generationId)).status).to.equal('queued');
  });
});

// Goal: a stopping worker hands over its work at once and loses nothing; a lost wake-up is replaced.
// Method: workers stopped in the middle of their runs, and schedules that fail, followed by another worker or recovery.

async function stop(harness: CoreHarness, worker: CoreWorker): Promise<void> {
  await harness.clock.run(Promise.all([worker.context.wakeUps.stop(), worker.dispatcher.stop(10_000)]));
}

describe('a worker that stops', () => {
  it('hands its leases back, and the next worker follows the same tasks at once', async () => {
    const harness = await CoreHarness.open();
    const first = await CoreWorker.start(harness, 'first');
    harness.provider.newReport = () => ({ state: 'running' });
    const ids = [await harness.create(), await harness.create(), await harness.create()].map(
      ({ generationId }) => generationId,
    );
    await harness.clock.advance(2_000);
    const at = harness.clock.now();
    await stop(harness, first);
    expect(harness.clock.now() - at, 'it did not wait for anything').to.equal(0);
    expect(first.dispatcher.counts).to.deep.equal({ running: 0, waiting: 0 });
    for (const id of ids) expect((await harness.generation(id)).lease).to.equal(undefined);
    await CoreWorker.start(harness, 'second');
    await harness.clock.advance(100);
    for (const id of ids) expect((await harness.generation(id)).lease?.worker).to.equal('second');
    for (const task of harness.provider.tasks.values()) task.report = { state: 'succeeded', outputs: imagesOf(1) };
    for (const id of ids) expect(await untilSettled(harness, id)).to.include({ status: 'succeeded', attemptsMade: 1 });
    expect(harness.provider.submissions).to.have.length(3);
  });

  it('leaves waiting generations to others, and accepts no more', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ concurrency: 1 })] });
    const first = await CoreWorker.start(harness, 'first');
    harness.provider.newReport = () => ({ state: 'running' });
    const ids = [await harness.create(), await harness.create()].map(({ generationId }) => generationId);
    await harness.clock.advance(2_000);
    expect(first.dispatcher.counts).to.deep.equal({ running: 1, waiting: 1 });
    await stop(harness, first);
    for (const id of ids)
      expect(await first.dispatcher.deliver(id).catch((error: unknown) => error)).to.be.instanceOf(WorkerStopping);
    harness.provider.newReport = () => ({ state: 'succeeded', outputs: imagesOf(1) });
    for (const task of harness.provider.tasks.values()) task.report = { state: 'succeeded', outputs: imagesOf(1) };
    await CoreWorker.start(harness, 'second');
    for (const id of ids) expect(await untilSettled(harness, id)).to.include({ status: 'succeeded' });
  });

  it('does not count an attempt that was never handed over, so that the next worker need not query it', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ onUnknownAcceptance: 'fail', maxAttempts: 1 })] });
    harness.provider.recoverScript = 'unsupported';
    const reading = new Gate();
    let reads = 0;
    const first = await CoreWorker.start(harness, 'first', async (call) => {
      // The first read of the run itself, before it submits.
      if (call.name === 'generations.read' && (reads += 1) === 3) await reading.wait();
      return call.proceed();
    });
    const { generationId } = await harness.create();
    await harness.clock.advance(100);
    expect((await harness.generation(generationId)).attempt).to.include({ phase: 'submitting' });
    const stopped = stop(harness, first);
    reading.open();
    await stopped;
    expect(await harness.generation(generationId))
      .to.include({ status: 'running', attemptsMade: 0 })
      .and.not.to.have.any.keys('attempt', 'lease');
    await CoreWorker.start(harness, 'second');
    expect(await untilSettled(harness, generationId)).to.include({ status: 'succeeded', attemptsMade: 1 });
    expect(harness.provider.submissions).to.have.length(1);
  });

  it('waits also for a run that begins while it stops, as its lease was being written', async () => {
    const harness = await CoreHarness.open();
    const [leasing, handingBack] = [new Gate(), new Gate()];
    const first = await CoreWorker.start(harness, 'first', async (call) => {
      const next = call.name === 'generations.replace' ? (call.args[0] as Generation) : undefined;
      if (next !== undefined) await (next.lease === undefined ? handingBack : leasing).wait();
      return call.proceed();
    });
    const { generationId } = await harness.create();
    await harness.clock.advance(100);
    let hasStopped = false;
    const stopped = first.dispatcher.stop(10_000).then((isEnded) => {
      hasStopped = true;
      return isEnded;
    });
    leasing.open();
    await harness.clock.advance(1);
    expect(await harness.generation(generationId)).to.have.property('lease');
    expect(hasStopped, 'stopped while the run had its lease').to.equal(false);
    handingBack.open();
    await harness.clock.advance(1);
    expect(await stopped, 'ended within the grace').to.equal(true);
    expect(await harness.generation(generationId)).not.to.have.any.keys('attempt', 'lease');
  });

  it('ends within its grace although a provider does not answer, and the lease lapses', async () => {
    const harness = await CoreHarness.open();
    const first = await CoreWorker.start(harness, 'first');
    harness.provider.submitScript = ['hang'];
    const { generationId } = await harness.create();
    await harness.clock.advance(1_000);
    const at = harness.clock.now();
    await stop(harness, first);
    expect(harness.clock.now() - at).to.be.at.most(10_000);
    expect((await harness.generation(generationId)).status).to.equal('running');
  });

  it('says whether all its runs have ended, or some outlive its grace', async () => {
    const harness = await CoreHarness.open();
    const options = { workerId: 'worker', recoveryIntervalMs: 15_000, stopGraceMs: 10_000 };
    const [ending, hanging] = [new Worker(harness.process(), options), new Worker(harness.process(), options)];
    harness.provider.newReport = () => ({ state: 'running' });
    await ending.start();
    await harness.create();
    await harness.clock.advance(1_000);
    expect(await harness.clock.run(ending.stop())).to.equal(true);
    harness.provider.submitScript = ['hang'];
    await hanging.start();
    await harness.create();
    await harness.clock.advance(1_000);
    expect(await harness.clock.run(hanging.stop())).to.equal(false);
  });
});

describe('a lost wake-up', () => {
  it('is replaced by recovery', async () => {
    const harness = await CoreHarness.open();
    const context = harness.process(async (call) => {
      if (call.name === 'wakeUps.schedule') throw new Error('lost');
      return call.proceed();
    });
    const { generation } = await harness.post('k', harness.body(), { context });
    await CoreWorker.start(harness);
    await harness.clock.advance(harness.settings.recoveryGraceMs - 1);
    expect((await harness.generation(generation.generationId)).status).to.equal('queued');
    await harness.clock.advance(1);
    await harness.clock.run(new Recovery(harness.context).pass());
    expect(await untilSettled(harness, generation.generationId)).to.include({ status: 'succeeded' });
    await expectAtRest(harness, 1);
  });

  it('of a later attempt is replaced by recovery too', async () => {
    const harness = await CoreHarness.open();
    const worker = CoreWorker.idle(harness, 'first', async (call) => {
      if (call.name === 'wakeUps.schedule') throw new Error('lost');
      return call.proceed();
    });
    harness.provider.submitScript = [
      { refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'Busy.', mayRetry: true } },
      'accept',
    ];
    const {
      generation: { generationId },
    } = await harness.post('k', harness.body(), { context: worker.context });
    await worker.dispatcher.deliver(generationId);
    await harness.clock.advance(5_000);
    expect(await harness.generation(generationId)).to.include({ status: 'running', attemptsMade: 1 });
    await CoreWorker.start(harness, 'second');
    await harness.clock.run(new Recovery(harness.context).pass());
    expect(await untilSettled(harness, generationId)).to.include({ status: 'succeeded', attemptsMade: 2 });
  });

  it('delivered twice, early and after the end causes one submission and one charge', async () => {
    const harness = await CoreHarness.open();
    const [first, second] = [CoreWorker.idle(harness, 'first'), CoreWorker.idle(harness, 'second')];
    const { generationId } = await harness.create();
    await harness.clock.run(
      Promise.all(
        Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? first : second).dispatcher.deliver(generationId)),
      ),
    );
    expect(await untilSettled(harness, generationId)).to.include({ status: 'succeeded', chargedCredits: 10 });
    for (const worker of [first, second]) await worker.dispatcher.deliver(generationId);
    await first.dispatcher.deliver('01900000-0000-7000-8000-00000000ffff');
    expect(harness.provider.submissions).to.have.length(1);
    await expectAtRest(harness, 1);
  });
});
