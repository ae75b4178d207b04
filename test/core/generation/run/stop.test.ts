// Goal: a worker that stops hands over what it has, at once and losing nothing; a wake-up that was lost is made up for.
// Method: workers stopped in the middle of their runs, and schedules that fail, with another worker or recovery after them.
import { expect } from 'chai';
import { createGeneration } from '../../../../core/generation/create-generation.js';
import { WorkerStopping } from '../../../../core/generation/run/dispatcher.js';
import { Worker } from '../../../../apps/worker/worker.js';
import { Recovery } from '../../../../core/recovery/recover.js';
import { CoreWorker, untilSettled } from '../../../fixtures/core-worker.js';
import { CoreWorld } from '../../../fixtures/core-world.js';
import { Gate } from '../../../fixtures/intercepted.js';
import { imageModel } from '../../../fixtures/core-models.js';
import { expectAtRest } from '../../../fixtures/recovery-passes.js';
import { imagesOf } from '../../../fixtures/scripted-provider.js';

async function stop(world: CoreWorld, worker: CoreWorker): Promise<void> {
  await world.clock.run(Promise.all([worker.context.wakeUps.stop(), worker.dispatcher.stop(10_000)]));
}

describe('a worker that stops', () => {
  it('hands its leases back, and the next worker follows the same tasks at once', async () => {
    const world = await CoreWorld.open();
    const first = await CoreWorker.start(world, 'first');
    world.provider.newReport = () => ({ state: 'running' });
    const ids = [await world.create(), await world.create(), await world.create()].map(({ generationId }) => generationId);
    await world.clock.advance(2_000);
    const at = world.clock.now();
    await stop(world, first);
    expect(world.clock.now() - at, 'it did not wait for anything').to.equal(0);
    expect(first.dispatcher.counts).to.deep.equal({ running: 0, waiting: 0 });
    for (const id of ids) expect((await world.generation(id)).lease).to.equal(undefined);
    await CoreWorker.start(world, 'second');
    await world.clock.advance(100);
    for (const id of ids) expect((await world.generation(id)).lease?.worker).to.equal('second');
    for (const task of world.provider.tasks.values()) task.report = { state: 'succeeded', outputs: imagesOf(1) };
    for (const id of ids) expect(await untilSettled(world, id)).to.include({ status: 'succeeded', attemptsMade: 1 });
    expect(world.provider.submissions).to.have.length(3);
  });

  it('leaves what waits for a place to others, and takes nothing more', async () => {
    const world = await CoreWorld.open({ models: [imageModel({ concurrency: 1 })] });
    const first = await CoreWorker.start(world, 'first');
    world.provider.newReport = () => ({ state: 'running' });
    const ids = [await world.create(), await world.create()].map(({ generationId }) => generationId);
    await world.clock.advance(2_000);
    expect(first.dispatcher.counts).to.deep.equal({ running: 1, waiting: 1 });
    await stop(world, first);
    for (const id of ids) expect(await first.dispatcher.deliver(id).catch((error: unknown) => error)).to.be.instanceOf(WorkerStopping);
    world.provider.newReport = () => ({ state: 'succeeded', outputs: imagesOf(1) });
    for (const task of world.provider.tasks.values()) task.report = { state: 'succeeded', outputs: imagesOf(1) };
    await CoreWorker.start(world, 'second');
    for (const id of ids) expect(await untilSettled(world, id)).to.include({ status: 'succeeded' });
  });

  it('does not count an attempt that was never handed over, so that the next worker need not ask about it', async () => {
    const world = await CoreWorld.open({ models: [imageModel({ onUnknownAcceptance: 'fail', maxAttempts: 1 })] });
    world.provider.recoverScript = 'unsupported';
    const reading = new Gate();
    let reads = 0;
    const first = await CoreWorker.start(world, 'first', async (call) => {
      // The first look of the run itself, before it submits.
      if (call.name === 'generations.read' && (reads += 1) === 3) await reading.wait();
      return call.proceed();
    });
    const { generationId } = await world.create();
    await world.clock.advance(100);
    expect((await world.generation(generationId)).attempt).to.include({ phase: 'submitting' });
    const stopped = stop(world, first);
    reading.open();
    await stopped;
    expect(await world.generation(generationId)).to.include({ status: 'running', attemptsMade: 0 }).and.not.to.have.any.keys('attempt', 'lease');
    await CoreWorker.start(world, 'second');
    expect(await untilSettled(world, generationId)).to.include({ status: 'succeeded', attemptsMade: 1 });
    expect(world.provider.submissions).to.have.length(1);
  });

  it('ends within its grace although a provider does not answer, and the lease lapses', async () => {
    const world = await CoreWorld.open();
    const first = await CoreWorker.start(world, 'first');
    world.provider.submitScript = ['hang'];
    const { generationId } = await world.create();
    await world.clock.advance(1_000);
    const at = world.clock.now();
    await stop(world, first);
    expect(world.clock.now() - at).to.be.at.most(10_000);
    expect((await world.generation(generationId)).status).to.equal('running');
  });

  it('says whether all its runs have ended, or some outlive its grace', async () => {
    const world = await CoreWorld.open();
    const options = { workerId: 'worker', recoveryIntervalMs: 15_000, stopGraceMs: 10_000 };
    const [ending, hanging] = [new Worker(world.process(), options), new Worker(world.process(), options)];
    world.provider.newReport = () => ({ state: 'running' });
    await ending.start();
    await world.create();
    await world.clock.advance(1_000);
    expect(await world.clock.run(ending.stop())).to.equal(true);
    world.provider.submitScript = ['hang'];
    await hanging.start();
    await world.create();
    await world.clock.advance(1_000);
    expect(await world.clock.run(hanging.stop())).to.equal(false);
  });
});

describe('a lost wake-up', () => {
  it('is made up for by recovery', async () => {
    const world = await CoreWorld.open();
    const context = world.process(async (call) => {
      if (call.name === 'wakeUps.schedule') throw new Error('lost');
      return call.proceed();
    });
    const { generation } = await createGeneration(context, world.caller, 'k', world.body());
    await CoreWorker.start(world);
    await world.clock.advance(world.settings.recoveryGraceMs - 1);
    expect((await world.generation(generation.generationId)).status).to.equal('queued');
    await world.clock.advance(1);
    await world.clock.run(new Recovery(world.context).pass());
    expect(await untilSettled(world, generation.generationId)).to.include({ status: 'succeeded' });
    await expectAtRest(world, 1);
  });

  it('of a later attempt is made up for by recovery too', async () => {
    const world = await CoreWorld.open();
    const worker = CoreWorker.idle(world, 'first', async (call) => {
      if (call.name === 'wakeUps.schedule') throw new Error('lost');
      return call.proceed();
    });
    world.provider.submitScript = [{ refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'Busy.', mayRetry: true } }, 'accept'];
    const { generation: { generationId } } = await createGeneration(worker.context, world.caller, 'k', world.body());
    await worker.dispatcher.deliver(generationId);
    await world.clock.advance(5_000);
    expect(await world.generation(generationId)).to.include({ status: 'running', attemptsMade: 1 });
    await CoreWorker.start(world, 'second');
    await world.clock.run(new Recovery(world.context).pass());
    expect(await untilSettled(world, generationId)).to.include({ status: 'succeeded', attemptsMade: 2 });
  });

  it('delivered twice, early and after the end does no harm', async () => {
    const world = await CoreWorld.open();
    const [first, second] = [CoreWorker.idle(world, 'first'), CoreWorker.idle(world, 'second')];
    const { generationId } = await world.create();
    await world.clock.run(Promise.all(Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? first : second).dispatcher.deliver(generationId))));
    expect(await untilSettled(world, generationId)).to.include({ status: 'succeeded', chargedCredits: 10 });
    for (const worker of [first, second]) await worker.dispatcher.deliver(generationId);
    await first.dispatcher.deliver('01900000-0000-7000-8000-00000000ffff');
    expect(world.provider.submissions).to.have.length(1);
    await expectAtRest(world, 1);
  });
});
