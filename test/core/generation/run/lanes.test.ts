// Goal: no more of a model's generations run at once than it allows, in total and per account; waiting accounts take
// turns, so an account with many generations does not hold up an account with few.
// Method: a worker with a provider whose tasks end when the test says so; running tasks are counted at every step.
import { expect } from 'chai';
import { Worker } from '../../../../apps/worker/worker.js';
import type { Caller } from '../../../../core/access/credential.js';
import { cancelGeneration } from '../../../../core/generation/end-generation.js';
import { Lanes } from '../../../../core/generation/run/lanes.js';
import { imageModel } from '../../../fixtures/core-models.js';
import { settled } from '../../../fixtures/manual-clock.js';
import { imagesOf, type ScriptedTask } from '../../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { CoreWorker } from '../../../harness/core-worker.js';

async function open(concurrency: number, concurrencyPerAccount: number): Promise<CoreHarness> {
  const harness = await CoreHarness.open({ models: [imageModel({ concurrency, concurrencyPerAccount })] });
  harness.provider.newReport = () => ({ state: 'running' });
  await CoreWorker.start(harness);
  return harness;
}

function underWay(harness: CoreHarness): ScriptedTask[] {
  return [...harness.provider.tasks.values()].filter(({ report }) => report.state === 'running');
}

async function createMany(harness: CoreHarness, count: number, caller: Caller): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let made = 0; made < count; made += 1) ids.add((await harness.create({}, caller)).generationId);
  return ids;
}

describe('places of a model', () => {
  it('are never taken by more generations than it has, and all get one eventually', async () => {
    const harness = await open(3, 2);
    const callers = [harness.caller, await harness.newCaller(1_000), await harness.newCaller(1_000)];
    const owners = new Map<string, Caller>();
    for (const caller of callers) for (const id of await createMany(harness, 6, caller)) owners.set(id, caller);
    let finished = 0;
    await harness.clock.until(() => {
      const tasks = underWay(harness);
      expect(tasks.length).to.be.at.most(3);
      for (const caller of callers) {
        expect(
          tasks.filter(({ submission }) => owners.get(submission.generationId) === caller).length,
          'of one account',
        ).to.be.at.most(2);
      }
      const [task] = tasks;
      if (task) {
        task.report = { state: 'succeeded', outputs: imagesOf(1) };
        finished += 1;
      }
      return finished === 18;
    }, 'all have been submitted');
    await harness.clock.advance(10_000);
    expect(harness.provider.submissions).to.have.length(18);
    for (const id of owners.keys()) expect((await harness.generation(id)).status).to.equal('succeeded');
  });

  it('are given at the next recovery when a new catalog has more of them', async () => {
    let concurrency = 1;
    const model = imageModel({ concurrencyPerAccount: 8 });
    const harness = await CoreHarness.open({
      models: [Object.defineProperty({ ...model }, 'concurrency', { get: () => concurrency })],
    });
    harness.provider.newReport = () => ({ state: 'running' });
    await new Worker(harness.context, { workerId: 'worker', recoveryIntervalMs: 15_000, stopGraceMs: 1_000 }).start();
    await createMany(harness, 6, harness.caller);
    await harness.clock.advance(1_000);
    expect(underWay(harness)).to.have.length(1);
    concurrency = 4;
    await harness.clock.advance(15_000);
    expect(underWay(harness)).to.have.length(4);
  });

  it('go to an account with few in turn with one that has many', async () => {
    const harness = await open(1, 1);
    const few = await harness.newCaller(1_000);
    await createMany(harness, 30, harness.caller);
    await harness.clock.advance(10);
    const ids = await createMany(harness, 3, few);
    await harness.clock.until(() => {
      for (const task of underWay(harness)) task.report = { state: 'succeeded', outputs: imagesOf(1) };
      return harness.provider.submissions.length >= 8;
    }, 'eight have been submitted');
    const order = harness.provider.submissions
      .slice(0, 8)
      .map(({ generationId }) => (ids.has(generationId) ? 'few' : 'many'));
    expect(
      order.filter((who) => who === 'few'),
      order.join(),
    ).to.have.length(3);
  });

  it('do not stay empty because the account whose turn it is has its share', async () => {
    const harness = await open(2, 1);
    await createMany(harness, 5, harness.caller);
    await harness.clock.advance(10);
    expect(underWay(harness)).to.have.length(1);
    await createMany(harness, 1, await harness.newCaller(100));
    await harness.clock.advance(10);
    expect(underWay(harness)).to.have.length(2);
  });

  it('are given back by a generation that no longer needs one when its turn comes', async () => {
    const harness = await open(1, 1);
    await createMany(harness, 1, harness.caller);
    await harness.clock.advance(10);
    const [waiting] = await createMany(harness, 1, harness.caller);
    await createMany(harness, 1, harness.caller);
    await harness.clock.advance(10);
    await cancelGeneration(harness.context, harness.caller, waiting ?? '');
    for (const task of underWay(harness)) task.report = { state: 'succeeded', outputs: imagesOf(1) };
    await harness.clock.advance(10_000);
    expect(underWay(harness), 'the one behind it').to.have.length(1);
    expect(harness.provider.submissions.map(({ generationId }) => generationId))
      .to.have.length(2)
      .and.not.to.include(waiting);
  });

  it('are as many as the newest catalog says', async () => {
    const harness = await open(1, 1);
    await createMany(harness, 4, harness.caller);
    await harness.clock.advance(1_000);
    expect(underWay(harness)).to.have.length(1);
    harness.models = [imageModel({ concurrency: 3, concurrencyPerAccount: 3 })];
    await createMany(harness, 1, harness.caller);
    await harness.clock.advance(1_000);
    expect(underWay(harness)).to.have.length(3);
  });

  it('are given back once, however often the release is called', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ concurrency: 1, concurrencyPerAccount: 1 })] });
    const lanes = new Lanes(harness.context);
    const first = await lanes.enter(await harness.create());
    const admitted: string[] = [];
    for (const who of ['b', 'c'])
      void lanes.enter(await harness.create({}, await harness.newCaller(100))).then(() => admitted.push(who));
    first.release();
    first.release();
    await settled();
    expect(admitted).to.deep.equal(['b']);
  });

  it('are refused to all waiting generations, and to those that come later, when the worker stops', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ concurrency: 1, concurrencyPerAccount: 1 })] });
    const lanes = new Lanes(harness.context);
    await lanes.enter(await harness.create());
    const failureOf = async () => lanes.enter(await harness.create()).catch((error: unknown) => error);
    const waiting = [failureOf(), failureOf()];
    await settled();
    lanes.refuseAll(new Error('stopping'));
    for (const outcome of await Promise.all([...waiting, failureOf()])) expect(outcome).to.be.instanceOf(Error);
  });
});
