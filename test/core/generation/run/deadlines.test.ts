// Goal: every generation ends within its deadline and a pass of recovery, whatever its provider does, and its hold with it.
// Method: providers that never finish, ask for absurd waits, or never end an output; workers that are there or not.
import { expect } from 'chai';
import type { Generation } from '../../../../core/generation/generation.js';
import type { ProviderReport } from '../../../../core/ports/provider.js';
import { Recovery } from '../../../../core/recovery/recover.js';
import { CoreWorker, untilSettled } from '../../../fixtures/core-worker.js';
import { CoreWorld } from '../../../fixtures/core-world.js';
import { Life } from '../../../fixtures/cut-processes.js';
import { imageModel } from '../../../fixtures/core-models.js';
import { imagesOf } from '../../../fixtures/scripted-provider.js';

const RUN_MS = 600_000;

async function expectTimedOut(world: CoreWorld, generationId: string, withinMs: number): Promise<void> {
  await world.clock.advance(withinMs);
  const g = await world.generation(generationId);
  expect([g.status, g.error?.code, g.chargedCredits], `after ${withinMs} ms`).to.deep.equal(['failed', 'TASK_TIMEOUT', 0]);
  expect(g.settledAt).not.to.equal(undefined);
  expect((await world.account()).holds.size).to.equal(0);
}

describe('deadlines', () => {
  it('end a run whose provider never finishes, and ask it to stop', async () => {
    const world = await CoreWorld.open();
    await CoreWorker.start(world);
    world.provider.newReport = () => ({ state: 'running' });
    const { generationId } = await world.create();
    await expectTimedOut(world, generationId, RUN_MS + 10_000);
    expect(world.provider.onlyTask.cancels).to.equal(1);
  });

  const waits: readonly (readonly [string, number])[] = [['far beyond the deadline', 10 * RUN_MS], ['longer than a timer can', 2 ** 40], ['not a number', Number.NaN], ['in the past', -5]];
  for (const [what, pollAfterMs] of waits) {
    it(`end a run whose provider asks for a wait that is ${what}, by the same worker`, async () => {
      const world = await CoreWorld.open();
      await CoreWorker.start(world);
      world.provider.newReport = (): ProviderReport => ({ state: 'running', pollAfterMs });
      const { generationId } = await world.create();
      await expectTimedOut(world, generationId, RUN_MS + 10_000);
      expect((await world.generation(generationId)).fence, 'no other holder was needed').to.equal(1);
      expect(world.provider.onlyTask.polls, 'the provider is not hammered').to.be.at.most(RUN_MS / 1_000 + 2);
    });
  }

  it('end a run that waits for an output that never ends', async () => {
    const world = await CoreWorld.open();
    const worker = await CoreWorker.start(world);
    world.provider.onOutput = () => new Promise(() => undefined);
    const { generationId } = await world.create();
    const recovery = new Recovery(world.context);
    await world.clock.advance(RUN_MS);
    await world.clock.run(recovery.pass());
    await expectTimedOut(world, generationId, 60_000);
    expect(worker.dispatcher.counts, 'its place is free again').to.deep.equal({ running: 0, waiting: 0 });
  });

  it('end a generation nobody takes, by recovery', async () => {
    const world = await CoreWorld.open({ models: [imageModel({ queueTimeoutMs: 100_000 })] });
    const { generationId } = await world.create();
    await world.clock.advance(100_001);
    await world.clock.run(new Recovery(world.context).pass());
    await expectTimedOut(world, generationId, 0);
  });

  it('end a generation that a worker gets to too late', async () => {
    const world = await CoreWorld.open({ models: [imageModel({ queueTimeoutMs: 100_000 })] });
    const { generationId } = await world.create();
    await world.clock.advance(100_001);
    await CoreWorker.start(world);
    await expectTimedOut(world, generationId, 1_000);
    expect(world.provider.submissions).to.have.length(0);
  });

  it('end a generation whose worker died, by recovery', async () => {
    const world = await CoreWorld.open();
    const life = new Life();
    const worker = await CoreWorker.start(world, 'dying', life.interceptor);
    world.provider.newReport = () => ({ state: 'running' });
    const { generationId } = await world.create();
    await world.clock.advance(5_000);
    expect(worker.dispatcher.counts.running).to.equal(1);
    life.isDead = true;
    await world.clock.advance(RUN_MS);
    const recovery = new Recovery(world.context);
    await world.clock.run(recovery.pass());
    await expectTimedOut(world, generationId, 0);
  });

  it('leave no attempt for later that would begin after them', async () => {
    const world = await CoreWorld.open({ models: [imageModel({ runTimeoutMs: 2_500, maxAttempts: 9 })] });
    await CoreWorker.start(world);
    world.provider.submitScript = [{ refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'Busy.', mayRetry: true } }];
    const g = await untilSettled(world, (await world.create()).generationId);
    expect([g.status, g.error?.code, g.attemptsMade]).to.deep.equal(['failed', 'PROVIDER_UNAVAILABLE', 2]);
  });

  it('go by the clock as it is when it goes back, and nothing is stuck', async () => {
    const world = await CoreWorld.open({ models: [imageModel({ runTimeoutMs: 10_000, maxAttempts: 9 })] });
    world.provider.submitScript = [{ refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'Busy.', mayRetry: true } }, 'accept'];
    const worker = CoreWorker.idle(world);
    const { generationId } = await world.create();
    await worker.dispatcher.deliver(generationId);
    await world.clock.advance(500);
    // Another machine, whose clock is ahead, takes the lease for a moment; ours comes back to before the deadline.
    world.clock.jump(20_000);
    const ahead = CoreWorker.idle(world, 'ahead', async (call) => {
      const answer = await call.proceed();
      if (call.name === 'generations.replace') world.clock.jump(-19_000);
      return answer;
    });
    await ahead.dispatcher.deliver(generationId);
    await world.clock.advance(60_000);
    const g = await world.generation(generationId);
    expect([g.status, g.settledAt !== undefined]).to.deep.equal(['succeeded', true]);
  });

  it('of a lease left by a clock that was set back far do not keep others waiting', async () => {
    const world = await CoreWorld.open();
    world.provider.newReport = () => ({ state: 'running' });
    const dead = CoreWorker.idle(world, 'dead', async (call) => (call.name === 'generations.replace' && (call.args[0] as Generation).fence === 1 && (call.args[0] as Generation).attempt?.phase === 'submitted' ? new Promise(() => undefined) : call.proceed()));
    world.clock.jump(86_400_000 / 48);
    const { generationId } = await world.create();
    await dead.dispatcher.deliver(generationId);
    await world.clock.advance(100);
    world.clock.jump(-86_400_000 / 48);
    world.provider.newReport = () => ({ state: 'succeeded', outputs: imagesOf(1) });
    for (const task of world.provider.tasks.values()) task.report = { state: 'succeeded', outputs: imagesOf(1) };
    const other = CoreWorker.idle(world, 'other');
    await other.dispatcher.deliver(generationId);
    expect((await untilSettled(world, generationId)).status).to.equal('succeeded');
  });
});
