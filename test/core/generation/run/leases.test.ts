// Goal: once another worker has a generation, every write of the first worker fails, wherever it was interrupted; the
// work continues where it was; a provider report after the end changes nothing.
// Method: a worker pauses at each of its store calls in turn until its lease has lapsed and another worker has
// continued or finished; then it resumes.
import { expect } from 'chai';
import { cancelGeneration } from '../../../../core/generation/end-generation.js';
import { type Generation, isTerminal } from '../../../../core/generation/generation.js';
import { Recovery } from '../../../../core/recovery/recover.js';
import { streamOf } from '../../../fixtures/byte-streams.js';
import { imageModel } from '../../../fixtures/core-models.js';
import { Gate, type Interceptor } from '../../../fixtures/intercepted.js';
import { plainImage } from '../../../fixtures/plain-media.js';
import { expectAtRest } from '../../../fixtures/recovery-passes.js';
import { imagesOf } from '../../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../../harness/core-worker.js';
import { Life } from '../../../harness/cut-processes.js';

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
    await cancelGeneration(harness.context, harness.caller, generationId);
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
