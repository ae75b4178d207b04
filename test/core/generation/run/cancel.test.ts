// Goal: a cancel that was answered with "cancelled" costs nothing and nothing is submitted after it; a running one is asked
// to stop, ends in time whatever its provider does, and is charged by the rules.
// Method: cancels before, while and after the task is handed over, with providers that stop, ignore it or deliver anyway.
import { expect } from 'chai';
import { cancelGeneration } from '../../../../core/generation/cancel-generation.js';
import type { Generation } from '../../../../core/generation/generation.js';
import { CoreWorker, untilEnded, untilSettled } from '../../../fixtures/core-worker.js';
import { CoreWorld } from '../../../fixtures/core-world.js';
import { imageModel } from '../../../fixtures/core-models.js';
import { Gate } from '../../../fixtures/intercepted.js';
import { expectBooksRight } from '../../../fixtures/ledger-checks.js';
import { imagesOf } from '../../../fixtures/scripted-provider.js';

async function expectSettled(world: CoreWorld, g: Generation, status: string, charged: number): Promise<void> {
  expect([g.status, g.chargedCredits]).to.deep.equal([status, charged]);
  expect(await world.account()).to.include({ spent: charged, available: 1_000 - charged, reserved: 0 });
  expectBooksRight(await world.account(), await world.entries());
}

async function running(changes: Parameters<typeof imageModel>[0] = {}): Promise<{ world: CoreWorld; generationId: string }> {
  const world = await CoreWorld.open({ models: [imageModel({ cancelFloorCredits: 4, ...changes })] });
  await CoreWorker.start(world);
  world.provider.newReport = () => ({ state: 'running' });
  const { generationId } = await world.create({ count: 3 });
  await world.clock.advance(2_500);
  expect((await world.generation(generationId)).attempt?.phase).to.equal('submitted');
  return { world, generationId };
}

describe('cancel', () => {
  it('of a queued generation is final at once, costs nothing, and nothing is ever submitted', async () => {
    const world = await CoreWorld.open();
    const { generationId } = await world.create();
    const g = await cancelGeneration(world.context, world.caller, generationId);
    expect([g.status, g.completedAt, g.settledAt]).to.deep.equal(['cancelled', world.clock.now(), world.clock.now()]);
    await CoreWorker.start(world);
    await world.clock.advance(100_000);
    expect(world.provider.submissions).to.have.length(0);
    await expectSettled(world, await world.generation(generationId), 'cancelled', 0);
  });

  it('may be repeated and changes nothing more', async () => {
    const world = await CoreWorld.open();
    const { generationId } = await world.create();
    const first = await cancelGeneration(world.context, world.caller, generationId);
    await world.clock.advance(5_000);
    expect(await cancelGeneration(world.context, world.caller, generationId)).to.deep.equal(first);
  });

  it('of one that succeeded changes nothing', async () => {
    const world = await CoreWorld.open();
    await CoreWorker.start(world);
    const before = await untilSettled(world, (await world.create()).generationId);
    expect(await cancelGeneration(world.context, world.caller, before.generationId)).to.deep.equal(before);
  });

  it('of one whose provider then fails by itself costs nothing, whatever the floor', async () => {
    const { world, generationId } = await running();
    world.provider.onCancel = (task) => { task.report = { state: 'failed', failure: { code: 'INTERNAL_ERROR', message: 'It broke.', mayRetry: true } }; };
    await cancelGeneration(world.context, world.caller, generationId);
    await expectSettled(world, await untilSettled(world, generationId), 'cancelled', 0);
  });

  it('between the lease and the submission stops it, unsubmitted and free', async () => {
    const gate = new Gate();
    const world = await CoreWorld.open({ models: [imageModel({ cancelFloorCredits: 4 })] });
    let reads = 0;
    await CoreWorker.start(world, 'worker', async (call) => {
      // The third read is the run's first look at what it leased.
      if (call.name === 'generations.read') reads += 1;
      if (call.name === 'generations.read' && reads === 3) await gate.wait();
      return call.proceed();
    });
    const { generationId } = await world.create();
    await world.clock.advance(1);
    expect([gate.reached, (await cancelGeneration(world.context, world.caller, generationId)).status]).to.deep.equal([true, 'running']);
    gate.open();
    await expectSettled(world, await untilSettled(world, generationId), 'cancelled', 0);
    expect(world.provider.submissions).to.have.length(0);
  });

  it('while the submission is under way stops the task once it is known', async () => {
    const world = await CoreWorld.open({ models: [imageModel({ cancelFloorCredits: 4 })] });
    await CoreWorker.start(world);
    world.provider.newReport = () => ({ state: 'running' });
    world.provider.onSubmit = ({ generationId }) => void cancelGeneration(world.context, world.caller, generationId);
    const { generationId } = await world.create();
    await expectSettled(world, await untilSettled(world, generationId), 'cancelled', 4);
    expect(world.provider.onlyTask.cancels).to.equal(1);
  });

  it('while the outcome of the submission is unknown does not hand it over again', async () => {
    const world = await CoreWorld.open();
    await CoreWorker.start(world);
    world.provider.submitScript = ['throw'];
    world.provider.onSubmit = ({ generationId }) => void cancelGeneration(world.context, world.caller, generationId);
    await expectSettled(world, await untilSettled(world, (await world.create()).generationId), 'cancelled', 0);
    expect(world.provider.submissions).to.have.length(1);
  });

  it('after the submission stops the task, at the price of what was delivered', async () => {
    const { world, generationId } = await running();
    world.provider.onCancel = (task) => { task.report = { state: 'cancelled', outputs: imagesOf(1) }; };
    const answer = await cancelGeneration(world.context, world.caller, generationId);
    expect([answer.status, answer.chargedCredits]).to.deep.equal(['running', 0]);
    const g = await untilSettled(world, generationId);
    await expectSettled(world, g, 'cancelled', 10);
    expect(g.outputs).to.have.length(1);
  });

  it('after the submission costs the model\'s floor when nothing was delivered', async () => {
    const { world, generationId } = await running();
    await cancelGeneration(world.context, world.caller, generationId);
    await expectSettled(world, await untilSettled(world, generationId), 'cancelled', 4);
  });

  it('is over after the grace when the provider ignores it, and what comes later changes nothing', async () => {
    const { world, generationId } = await running();
    world.provider.onCancel = () => undefined;
    const at = world.clock.now();
    await cancelGeneration(world.context, world.caller, generationId);
    const g = await untilSettled(world, generationId);
    expect((g.completedAt ?? 0) - at).to.be.within(world.settings.cancelGraceMs, world.settings.cancelGraceMs + 2_000);
    world.provider.onlyTask.report = { state: 'succeeded', outputs: imagesOf(3) };
    await world.clock.advance(60_000);
    await expectSettled(world, await world.generation(generationId), 'cancelled', 4);
  });

  for (const [what, aheadMs] of [['ahead', 50_000], ['behind', -50_000]] as const) {
    it(`leaves the provider its whole grace and no more, though the clock of the process that was asked is ${what}`, async () => {
      const { world, generationId } = await running();
      world.provider.onCancel = () => undefined;
      const at = world.clock.now();
      const clock = { now: () => world.clock.now() + aheadMs, after: world.clock.after.bind(world.clock) };
      await cancelGeneration(world.process(undefined, { clock }), world.caller, generationId);
      await expectSettled(world, await untilSettled(world, generationId), 'cancelled', 4);
      expect(world.clock.now() - at).to.be.within(world.settings.cancelGraceMs, world.settings.cancelGraceMs + 2_000);
    });
  }

  it('of one whose provider succeeds all the same leaves a success, charged as one', async () => {
    const { world, generationId } = await running();
    world.provider.onCancel = (task) => { task.report = { state: 'succeeded', outputs: imagesOf(3) }; };
    await cancelGeneration(world.context, world.caller, generationId);
    await expectSettled(world, await untilSettled(world, generationId), 'succeeded', 30);
  });

  it('reaches a run that sleeps long in another process by its next renewal', async () => {
    const { world, generationId } = await running();
    world.provider.onlyTask.report = { state: 'running', pollAfterMs: 500_000 };
    await world.clock.advance(2_000);
    const at = world.clock.now();
    const elsewhere = world.process(async (call) => (call.name === 'wakeUps.schedule' ? undefined : call.proceed()));
    await cancelGeneration(elsewhere, world.caller, generationId);
    const g = await untilEnded(world, generationId);
    expect((g.completedAt ?? 0) - at).to.be.at.most(world.settings.leaseMs);
  });

  it('ends the wait for another attempt', async () => {
    const world = await CoreWorld.open({ settings: { retryBaseMs: 60_000 } });
    await CoreWorker.start(world);
    world.provider.submitScript = [{ refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'Busy.', mayRetry: true } }];
    const { generationId } = await world.create();
    await world.clock.advance(1_000);
    await cancelGeneration(world.context, world.caller, generationId);
    await world.clock.advance(1_000);
    await expectSettled(world, await world.generation(generationId), 'cancelled', 0);
    expect(world.provider.submissions).to.have.length(1);
  });

  it('answers for a foreign, a random and a malformed id alike', async () => {
    const world = await CoreWorld.open();
    const { generationId } = await world.create();
    const other = await world.newCaller(10);
    const sibling = { ...world.caller, appId: other.appId };
    for (const [caller, id] of [[other, generationId], [sibling, generationId], [world.caller, '01900000-0000-7000-8000-00000000ffff'], [world.caller, 'x']] as const) {
      const error = await cancelGeneration(world.context, caller, id).catch((refusal: unknown) => refusal) as Error;
      expect([(error as Error & { code?: string }).code, error.message]).to.deep.equal(['TASK_NOT_FOUND', 'There is no such generation.']);
    }
    expect((await world.generation(generationId)).status).to.equal('queued');
  });
});
