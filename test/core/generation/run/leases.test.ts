// Goal: once another worker has a generation, nothing the first one writes succeeds, whatever it was in the middle of; the
// work goes on where it was; what a provider reports after the end changes nothing.
// Method: a worker is put to sleep at each of its store calls in turn until its lease has lapsed and another one has gone on
// or finished; then it wakes up.
import { expect } from 'chai';
import { isTerminal } from '../../../../core/generation/generation.js';
import { Recovery } from '../../../../core/recovery/recover.js';
import { streamOf } from '../../../fixtures/byte-streams.js';
import { CoreWorker, untilSettled } from '../../../fixtures/core-worker.js';
import { CoreWorld } from '../../../fixtures/core-world.js';
import { Life } from '../../../fixtures/cut-processes.js';
import { imageModel } from '../../../fixtures/core-models.js';
import { Gate, type Interceptor } from '../../../fixtures/intercepted.js';
import { expectAtRest } from '../../../fixtures/recovery-passes.js';
import { plainImage } from '../../../fixtures/plain-media.js';
import { imagesOf } from '../../../fixtures/scripted-provider.js';

/** Sleeps at the call with this number; from then on every call waits, timers' ones too, as in a stopped process. */
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

async function overtakenAt(index: number, side: 'before' | 'after'): Promise<boolean> {
  const world = await CoreWorld.open();
  const gate = new Gate();
  let reads = 0;
  // No two reads of an output give the same bytes, so that a late write over a delivered one would show.
  world.provider.onOutput = async () => { reads += 1; return streamOf(plainImage(64, 64, 'image/png', `${reads}`)); };
  const { generationId } = await world.create({ count: 2 });
  const first = CoreWorker.idle(world, 'first', stoppedAt(index, side, gate));
  const delivered = first.dispatcher.deliver(generationId).catch(() => undefined);
  await world.clock.advance(world.settings.leaseMs + 1_000);
  const second = CoreWorker.idle(world, 'second');
  await second.dispatcher.deliver(generationId);
  await world.clock.advance(10_000);
  const before = await world.generation(generationId);
  expect(before.status, `call ${index}, ${side}`).to.equal('succeeded');
  gate.open();
  await world.clock.run(delivered);
  await world.clock.advance(10_000);
  const after = await untilSettled(world, generationId);
  expect([after.fence, after.status, after.chargedCredits, after.outputs, after.updatedAt]).to.deep.equal([before.fence, before.status, before.chargedCredits, before.outputs, before.updatedAt]);
  expect(world.provider.tasks.size, 'the provider made it once').to.equal(1);
  for (const output of after.outputs) {
    const stored = await world.ports.digests.ofBytes((await world.ports.objects.read(output.objectKey)) ?? streamOf(new Uint8Array()));
    expect(stored.sha256, 'the delivered bytes are as they were').to.equal(output.sha256);
  }
  expect((await world.account()).spent).to.equal(20);
  await expectAtRest(world, 1);
  return gate.reached;
}

describe('leases', () => {
  it('keep a worker that slept through its own from writing anything, wherever it fell asleep', async () => {
    let reached = 0;
    for (let index = 0; index < 20; index += 1) {
      for (const side of ['before', 'after'] as const) reached += Number(await overtakenAt(index, side));
    }
    expect(reached, 'the worker was held at its calls').to.be.at.least(25);
  });

  it('are renewed for as long as the provider takes', async () => {
    const world = await CoreWorld.open();
    const [first, second] = [await CoreWorker.start(world, 'first'), await CoreWorker.start(world, 'second')];
    world.provider.newReport = () => ({ state: 'running', pollAfterMs: 200_000 });
    const { generationId } = await world.create();
    await world.clock.advance(1_000);
    const recovery = new Recovery(world.context);
    for (let minute = 0; minute < 5; minute += 1) {
      await world.clock.advance(60_000);
      await world.clock.run(recovery.pass());
      for (const worker of [first, second]) await worker.dispatcher.deliver(generationId);
    }
    expect((await world.generation(generationId)).fence).to.equal(1);
    expect(first.dispatcher.counts.running + second.dispatcher.counts.running).to.equal(1);
  });

  it('lapse with their worker, and recovery wakes another one that follows the same task', async () => {
    const world = await CoreWorld.open();
    const life = new Life();
    const dying = await CoreWorker.start(world, 'dying', life.interceptor);
    world.provider.newReport = () => ({ state: 'running' });
    const { generationId } = await world.create();
    await world.clock.advance(5_000);
    await dying.context.wakeUps.stop();
    life.isDead = true;
    await world.clock.advance(world.settings.leaseMs + 2_000);
    await CoreWorker.start(world, 'second');
    await world.clock.run(new Recovery(world.context).pass());
    await world.clock.advance(1_000);
    expect((await world.generation(generationId)).lease?.worker).to.equal('second');
    world.provider.onlyTask.report = { state: 'succeeded', outputs: imagesOf(1) };
    const g = await untilSettled(world, generationId);
    expect([g.status, g.attemptsMade, world.provider.submissions.length]).to.deep.equal(['succeeded', 1, 1]);
  });

  it('do not keep a success that comes after the end from being noted, and from nothing else', async () => {
    const world = await CoreWorld.open({ models: [imageModel({ runTimeoutMs: 60_000 })] });
    const gate = new Gate();
    const worker = CoreWorker.idle(world, 'slow', async (call) => {
      if (call.name === 'objects.read') await gate.wait();
      return call.proceed();
    });
    const { generationId } = await world.create();
    // The clock jumps past lease and deadline while the output is on its way; recovery ends the generation.
    await worker.dispatcher.deliver(generationId);
    await world.clock.advance(10);
    expect(gate.reached).to.equal(true);
    world.clock.jump(70_000);
    const recovery = new Recovery(world.context);
    await recovery.pass();
    const ended = await world.generation(generationId);
    expect([ended.status, ended.error?.code, isTerminal(ended.status)]).to.deep.equal(['failed', 'TASK_TIMEOUT', true]);
    gate.open();
    await world.clock.advance(0);
    const after = await world.generation(generationId);
    expect(after.lateReport?.state).to.equal('succeeded');
    expect([after.status, after.chargedCredits, after.updatedAt, after.outputs]).to.deep.equal(['failed', 0, ended.updatedAt, []]);
    await expectAtRest(world, 1);
  });
});
