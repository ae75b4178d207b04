// Goal: every generation and its hold end within the deadline, plus one period for a last poll and downloads, plus one pass
// of recovery, however the provider behaves. A result that became ready in the meantime is delivered.
// Method: providers that never finish, ask for extreme waits, or never end an output; with and without workers.
import { expect } from 'chai';
import type { Generation } from '../../../../core/generation/generation.js';
import type { ProviderReport } from '../../../../core/ports/provider.js';
import { Recovery } from '../../../../core/recovery/recover.js';
import { DEFAULT_SETTINGS } from '../../../../core/settings.js';
import { imageModel } from '../../../fixtures/core-models.js';
import { imagesOf } from '../../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../../harness/core-worker.js';
import { Life } from '../../../harness/cut-processes.js';

const RUN_MS = 600_000;
/** One call for the last poll, and one for the one output. */
const LAST_PERIOD_MS = 2 * DEFAULT_SETTINGS.providerCallMs;

async function expectTimedOut(harness: CoreHarness, generationId: string, withinMs: number): Promise<void> {
  await harness.clock.advance(withinMs);
  const g = await harness.generation(generationId);
  expect([g.status, g.error?.code, g.chargedCredits], `after ${withinMs} ms`).to.deep.equal([
    'failed',
    'TASK_TIMEOUT',
    0,
  ]);
  expect(g.settledAt).not.to.equal(undefined);
  expect((await harness.account()).holds.size).to.equal(0);
}

describe('deadlines', () => {
  it('end a run whose provider never finishes, and ask it to stop', async () => {
    const harness = await CoreHarness.open();
    await CoreWorker.start(harness);
    harness.provider.newReport = () => ({ state: 'running' });
    const { generationId } = await harness.create();
    await expectTimedOut(harness, generationId, RUN_MS + 10_000);
    expect(harness.provider.onlyTask.cancels).to.equal(1);
  });

  const waits: readonly (readonly [string, number])[] = [
    ['far beyond the deadline', 10 * RUN_MS],
    ['longer than a timer can', 2 ** 40],
    ['not a number', Number.NaN],
    ['in the past', -5],
  ];
  for (const [what, pollAfterMs] of waits) {
    it(`end a run whose provider asks for a wait that is ${what}, by the same worker`, async () => {
      const harness = await CoreHarness.open();
      await CoreWorker.start(harness);
      harness.provider.newReport = (): ProviderReport => ({ state: 'running', pollAfterMs });
      const { generationId } = await harness.create();
      await expectTimedOut(harness, generationId, RUN_MS + 10_000);
      expect((await harness.generation(generationId)).fence, 'no other holder was needed').to.equal(1);
      expect(harness.provider.onlyTask.polls, 'the provider is not hammered').to.be.at.most(RUN_MS / 1_000 + 2);
    });
  }

  it('end a run that waits for an output that never ends', async () => {
    const harness = await CoreHarness.open();
    const worker = await CoreWorker.start(harness);
    harness.provider.onOutput = () => new Promise(() => undefined);
    const { generationId } = await harness.create();
    const recovery = new Recovery(harness.context);
    await harness.clock.advance(RUN_MS);
    await harness.clock.run(recovery.pass());
    await expectTimedOut(harness, generationId, LAST_PERIOD_MS + 1_000);
    expect(worker.dispatcher.counts, 'its place is free again').to.deep.equal({ running: 0, waiting: 0 });
  });

  it('end a generation that no worker takes, by recovery', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ queueTimeoutMs: 100_000 })] });
    const { generationId } = await harness.create();
    await harness.clock.advance(100_001);
    await harness.clock.run(new Recovery(harness.context).pass());
    await expectTimedOut(harness, generationId, 0);
  });

  it('end a generation that a worker gets to too late', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ queueTimeoutMs: 100_000 })] });
    const { generationId } = await harness.create();
    await harness.clock.advance(100_001);
    await CoreWorker.start(harness);
    await expectTimedOut(harness, generationId, 1_000);
    expect(harness.provider.submissions).to.have.length(0);
  });

  it('end a generation whose worker died, by recovery', async () => {
    const harness = await CoreHarness.open();
    const life = new Life();
    const worker = await CoreWorker.start(harness, 'dying', life.interceptor);
    harness.provider.newReport = () => ({ state: 'running' });
    const { generationId } = await harness.create();
    await harness.clock.advance(5_000);
    expect(worker.dispatcher.counts.running).to.equal(1);
    life.isDead = true;
    await harness.clock.advance(RUN_MS);
    const recovery = new Recovery(harness.context);
    await harness.clock.run(recovery.pass());
    expect((await harness.generation(generationId)).status, 'a worker may still collect a result').to.equal('running');
    await harness.clock.advance(LAST_PERIOD_MS + 1_000);
    await harness.clock.run(recovery.pass());
    await expectTimedOut(harness, generationId, 0);
  });

  it('deliver a result that became ready while no worker ran, after one more poll', async () => {
    const harness = await CoreHarness.open();
    const life = new Life();
    const dying = await CoreWorker.start(harness, 'dying', life.interceptor);
    harness.provider.newReport = () => ({ state: 'running' });
    const { generationId } = await harness.create();
    await harness.clock.advance(5_000);
    await dying.context.wakeUps.stop();
    life.isDead = true;
    await harness.clock.advance(10 * RUN_MS);
    const task = harness.provider.onlyTask;
    const { polls } = task;
    task.report = { state: 'succeeded', outputs: imagesOf(1) };
    await CoreWorker.start(harness, 'second');
    await harness.clock.run(new Recovery(harness.context).pass());
    const g = await untilSettled(harness, generationId);
    expect([g.status, g.chargedCredits, task.polls - polls, harness.provider.submissions.length]).to.deep.equal([
      'succeeded',
      10,
      1,
      1,
    ]);
  });

  it('poll a task exactly once more, and then fail it', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ runTimeoutMs: 10_000, pollIntervalMs: 60_000 })] });
    await CoreWorker.start(harness);
    harness.provider.newReport = () => ({ state: 'running' });
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect([g.status, g.error?.code]).to.deep.equal(['failed', 'TASK_TIMEOUT']);
    expect(harness.provider.onlyTask.polls, 'one at the start, and the last one').to.equal(2);
  });

  it('deliver a result whose download fails until the deadline and then succeeds', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ runTimeoutMs: 10_000 })] });
    await CoreWorker.start(harness);
    const { onOutput } = harness.provider;
    const beganAt = harness.clock.now();
    harness.provider.onOutput = async (task, index) => {
      if (harness.clock.now() < beganAt + 30_000) throw new Error('The file is not there yet.');
      return onOutput(task, index);
    };
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect([g.status, g.chargedCredits, harness.provider.submissions.length]).to.deep.equal(['succeeded', 10, 1]);
  });

  it('give the last period of downloads no more than its time', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ runTimeoutMs: 10_000 })] });
    await CoreWorker.start(harness);
    harness.provider.onOutput = async () => {
      throw new Error('The file is not there.');
    };
    const { generationId } = await harness.create();
    const g = await untilSettled(harness, generationId);
    const endedAt = (g.completedAt ?? 0) - (g.runDeadlineAt ?? 0);
    expect([g.error?.code, g.error?.message]).to.deep.equal([
      'TASK_TIMEOUT',
      'The result of the provider could not be fetched before the deadline.',
    ]);
    expect(endedAt).to.be.within(LAST_PERIOD_MS, LAST_PERIOD_MS + 1_000);
  });

  it('postpone no attempt beyond themselves', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ runTimeoutMs: 2_500, maxAttempts: 9 })] });
    await CoreWorker.start(harness);
    harness.provider.submitScript = [{ refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'Busy.', mayRetry: true } }];
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect([g.status, g.error?.code, g.attemptsMade]).to.deep.equal(['failed', 'PROVIDER_UNAVAILABLE', 2]);
  });

  it('follow the clock when it goes back, and leave nothing stuck', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ runTimeoutMs: 10_000, maxAttempts: 9 })] });
    harness.provider.submitScript = [
      { refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'Busy.', mayRetry: true } },
      'accept',
    ];
    const worker = CoreWorker.idle(harness);
    const { generationId } = await harness.create();
    await worker.dispatcher.deliver(generationId);
    await harness.clock.advance(500);
    // Another machine, whose clock is ahead, takes the lease for a moment; ours comes back to before the deadline.
    harness.clock.jump(20_000);
    const ahead = CoreWorker.idle(harness, 'ahead', async (call) => {
      const answer = await call.proceed();
      if (call.name === 'generations.replace') harness.clock.jump(-19_000);
      return answer;
    });
    await ahead.dispatcher.deliver(generationId);
    await harness.clock.advance(60_000);
    const g = await harness.generation(generationId);
    expect([g.status, g.settledAt !== undefined]).to.deep.equal(['succeeded', true]);
  });

  it('of a lease left by a clock that was set far back do not delay other work', async () => {
    const harness = await CoreHarness.open();
    harness.provider.newReport = () => ({ state: 'running' });
    const dead = CoreWorker.idle(harness, 'dead', async (call) =>
      call.name === 'generations.replace' &&
      (call.args[0] as Generation).fence === 1 &&
      (call.args[0] as Generation).attempt?.phase === 'submitted'
        ? new Promise(() => undefined)
        : call.proceed(),
    );
    harness.clock.jump(86_400_000 / 48);
    const { generationId } = await harness.create();
    await dead.dispatcher.deliver(generationId);
    await harness.clock.advance(100);
    harness.clock.jump(-86_400_000 / 48);
    harness.provider.newReport = () => ({ state: 'succeeded', outputs: imagesOf(1) });
    for (const task of harness.provider.tasks.values()) task.report = { state: 'succeeded', outputs: imagesOf(1) };
    const other = CoreWorker.idle(harness, 'other');
    await other.dispatcher.deliver(generationId);
    expect((await untilSettled(harness, generationId)).status).to.equal('succeeded');
  });
});
