// Goal: a cancel answered with "cancelled" costs nothing, and nothing is submitted after it; a running generation is
// asked to stop, ends in time however its provider behaves, and is charged by the rules.
// Method: cancels before, during and after the submission, with providers that stop, ignore the cancel or deliver
// anyway.
import { expect } from 'chai';
import { cancelGeneration } from '../../../../core/generation/end-generation.js';
import type { Generation } from '../../../../core/generation/generation.js';
import { imageModel } from '../../../fixtures/core-models.js';
import { Gate } from '../../../fixtures/intercepted.js';
import { expectBooksRight } from '../../../fixtures/ledger-checks.js';
import { imagesOf } from '../../../fixtures/scripted-provider.js';
import { withWallTime } from '../../../fixtures/wall-clock.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { CoreWorker, untilEnded, untilSettled } from '../../../harness/core-worker.js';

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
    const g = await cancelGeneration(harness.context, harness.caller, generationId);
    expect([g.status, g.completedAt, g.settledAt]).to.deep.equal([
      'cancelled',
      harness.clock.now(),
      harness.clock.now(),
    ]);
    await CoreWorker.start(harness);
    await harness.clock.advance(100_000);
    expect(harness.provider.submissions).to.have.length(0);
    await expectSettled(harness, await harness.generation(generationId), 'cancelled', 0);
  });

  it('may be repeated and changes nothing more', async () => {
    const harness = await CoreHarness.open();
    const { generationId } = await harness.create();
    const first = await cancelGeneration(harness.context, harness.caller, generationId);
    await harness.clock.advance(5_000);
    expect(await cancelGeneration(harness.context, harness.caller, generationId)).to.deep.equal(first);
  });

  it('of one that succeeded changes nothing', async () => {
    const harness = await CoreHarness.open();
    await CoreWorker.start(harness);
    const before = await untilSettled(harness, (await harness.create()).generationId);
    expect(await cancelGeneration(harness.context, harness.caller, before.generationId)).to.deep.equal(before);
  });

  it('of one whose provider then fails on its own costs nothing, with any floor', async () => {
    const { harness, generationId } = await running();
    harness.provider.onCancel = (task) => {
      task.report = { state: 'failed', failure: { code: 'INTERNAL_ERROR', message: 'It broke.', mayRetry: true } };
    };
    await cancelGeneration(harness.context, harness.caller, generationId);
    await expectSettled(harness, await untilSettled(harness, generationId), 'cancelled', 0);
  });

  it('between the lease and the submission stops it, unsubmitted and free', async () => {
    const gate = new Gate();
    const harness = await CoreHarness.open({ models: [imageModel({ cancelFloorCredits: 4 })] });
    let reads = 0;
    await CoreWorker.start(harness, 'worker', async (call) => {
      // The third read is the run's first read of what it leased.
      if (call.name === 'generations.read') reads += 1;
      if (call.name === 'generations.read' && reads === 3) await gate.wait();
      return call.proceed();
    });
    const { generationId } = await harness.create();
    await harness.clock.advance(1);
    expect([
      gate.reached,
      (await cancelGeneration(harness.context, harness.caller, generationId)).status,
    ]).to.deep.equal([true, 'running']);
    gate.open();
    await expectSettled(harness, await untilSettled(harness, generationId), 'cancelled', 0);
    expect(harness.provider.submissions).to.have.length(0);
  });

  it('while the submission is under way stops the task once it is known', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ cancelFloorCredits: 4 })] });
    await CoreWorker.start(harness);
    harness.provider.newReport = () => ({ state: 'running' });
    harness.provider.onSubmit = ({ generationId }) =>
      void cancelGeneration(harness.context, harness.caller, generationId);
    const { generationId } = await harness.create();
    await expectSettled(harness, await untilSettled(harness, generationId), 'cancelled', 4);
    expect(harness.provider.onlyTask.cancels).to.equal(1);
  });

  it('while the outcome of the submission is unknown does not hand it over again', async () => {
    const harness = await CoreHarness.open();
    await CoreWorker.start(harness);
    harness.provider.submitScript = ['throw'];
    harness.provider.onSubmit = ({ generationId }) =>
      void cancelGeneration(harness.context, harness.caller, generationId);
    await expectSettled(harness, await untilSettled(harness, (await harness.create()).generationId), 'cancelled', 0);
    expect(harness.provider.submissions).to.have.length(1);
  });

  it('after the submission stops the task, at the price of what was delivered', async () => {
    const { harness, generationId } = await running();
    harness.provider.onCancel = (task) => {
      task.report = { state: 'cancelled', outputs: imagesOf(1) };
    };
    const answer = await cancelGeneration(harness.context, harness.caller, generationId);
    expect([answer.status, answer.chargedCredits]).to.deep.equal(['running', 0]);
    const g = await untilSettled(harness, generationId);
    await expectSettled(harness, g, 'cancelled', 10);
    expect(g.outputs).to.have.length(1);
  });

  it("after the submission costs the model's floor when nothing was delivered", async () => {
    const { harness, generationId } = await running();
    await cancelGeneration(harness.context, harness.caller, generationId);
    await expectSettled(harness, await untilSettled(harness, generationId), 'cancelled', 4);
  });

  it('ends after the grace when the provider ignores it, and later answers change nothing', async () => {
    const { harness, generationId } = await running();
    harness.provider.onCancel = () => undefined;
    const at = harness.clock.now();
    await cancelGeneration(harness.context, harness.caller, generationId);
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
    await cancelGeneration(harness.context, harness.caller, generationId);
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
    await cancelGeneration(harness.context, harness.caller, generationId);
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
