// Goal: every process reports the open generations of all of them, by labels of the catalog alone; scrapes share a count,
// and without an answer of the database nothing is reported.
// Method: measured processes over stores in memory, a clock that the test moves and a catalog that it changes.
import { expect } from 'chai';
import { KEPT_MS } from '../../../apps/metrics/open-generations.js';
import type { Model } from '../../../core/catalog/model.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { Gate, type Interceptor } from '../../fixtures/intercepted.js';
import { imageModel } from '../../fixtures/models.js';
import { connectedProviders, ScriptedProvider } from '../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { MeasuredProcess } from '../../harness/measured-process.js';

const OPEN = 'darkroom_open_generations';
const OLDEST = 'darkroom_open_generations_oldest_age_seconds';
const UP = 'darkroom_open_generations_up';
const COUNT = 'generations.countOpen';

/** The series of a metric that are not 0, as `model provider state: value`. */
async function counted(process: MeasuredProcess, name = OPEN, from = 1): Promise<string[]> {
  const family = (await process.scrape()).find((one) => one.name === name);
  return (family?.samples ?? [])
    .filter(({ value }) => value >= from)
    .map(({ labels, value }) => `${labels['model']} ${labels['provider']} ${labels['state']}: ${value}`)
    .toSorted();
}

const create = (harness: CoreHarness, modelKey = 'plain-image') =>
  createGeneration(harness.context, harness.caller, harness.ports.ids.uuid(), {
    ...harness.body(),
    model_key: modelKey,
  });

function routed(modelKey: string, ...providers: string[]): Model {
  const model = { ...imageModel(), modelKey };
  return { ...model, route: providers.map((provider) => ({ provider, settings: {}, weight: 1 })) };
}

describe('open generations in metrics', () => {
  it('are the same in every process, with the age of the oldest', async () => {
    const harness = await CoreHarness.open({ models: [{ ...imageModel(), concurrency: 1, concurrencyPerAccount: 1 }] });
    const worker = new MeasuredProcess(harness, 'one');
    const front = new MeasuredProcess(harness, 'two');
    harness.provider.newReport = () => ({ state: 'running' });
    await worker.startWorking();
    await create(harness);
    await harness.clock.until(() => harness.provider.tasks.size === 1, 'the first runs');
    await create(harness);
    await create(harness);
    await harness.clock.advance(60_000);
    for (const process of [worker, front]) {
      expect(await counted(process)).to.deep.equal([
        'plain-image scripted queued: 2',
        'plain-image scripted running: 1',
      ]);
      const ages = (await counted(process, OLDEST)).map((line) => Number(line.split(': ')[1]));
      expect(ages).to.have.length(2);
      for (const age of ages) expect(age).to.be.within(60, 70);
      expect(await process.value('darkroom_model_concurrency', { model: 'plain-image' })).to.equal(1);
      expect(await process.value(UP)).to.equal(1);
    }
  });

  it('include those that wait since their provider had no room', async () => {
    const harness = await CoreHarness.open();
    const worker = new MeasuredProcess(harness, 'one');
    const failure = { code: 'PROVIDER_UNAVAILABLE', message: 'It is full.', mayRetry: true } as const;
    harness.provider.submitScript = [{ refuse: failure, because: 'capacity' }];
    await worker.startWorking();
    await create(harness);
    await harness.clock.until(() => harness.provider.submissions.length > 0, 'the provider refused');
    await harness.clock.advance(1);
    expect(await counted(worker)).to.deep.equal(['plain-image scripted requeued: 1']);
  });

  it('are 0 for a model without any, and disappear with the model; what it had is withdrawn', async () => {
    const harness = await CoreHarness.open({
      models: [routed('plain-image', 'scripted'), routed('idle', 'scripted', 'other')],
      ports: { providers: connectedProviders({ scripted: new ScriptedProvider(), other: new ScriptedProvider() }) },
    });
    const process = new MeasuredProcess(harness, 'one');
    await create(harness);
    await create(harness, 'idle');
    const idle = ['any queued', 'any requeued', 'any running', 'other requeued', 'other running'];
    const model = ['scripted queued', 'scripted requeued', 'scripted running'];
    const value = (name: string) => (name === 'plain-image scripted queued' || name === 'idle any queued' ? 1 : 0);
    const all = [...model.map((one) => `plain-image ${one}`), ...idle.map((one) => `idle ${one}`)];
    const shared = ['idle scripted requeued', 'idle scripted running'];
    expect(await counted(process, OPEN, 0)).to.deep.equal(
      [...all, ...shared].map((name) => `${name}: ${value(name)}`).toSorted(),
    );
    harness.models = [routed('plain-image', 'scripted')];
    await harness.clock.advance(KEPT_MS);
    expect(await counted(process, OPEN, 0)).to.deep.equal(
      [
        ...model.map((one) => `plain-image ${one}: ${value(`plain-image ${one}`)}`),
        'withdrawn any queued: 1',
      ].toSorted(),
    );
  });

  it('are counted once for concurrent scrapes, and again after some seconds', async () => {
    const harness = await CoreHarness.open();
    let counts = 0;
    const process = new MeasuredProcess(harness, 'one', (call) => {
      if (call.name === COUNT) counts += 1;
      return call.proceed();
    });
    await Promise.all([process.scrape(), process.scrape(), process.scrape()]);
    expect(counts).to.equal(1);
    await create(harness);
    await harness.clock.advance(KEPT_MS - 1);
    expect(await process.value(OPEN)).to.equal(0);
    expect(counts).to.equal(1);
    await harness.clock.advance(1);
    expect(await process.value(OPEN)).to.equal(1);
    expect(counts).to.equal(2);
  });

  it('are absent while the database fails or hangs, which is asked once at a time', async () => {
    const harness = await CoreHarness.open();
    const gate = new Gate();
    let counts = 0;
    let fault: Interceptor = (call) => call.proceed();
    const process = new MeasuredProcess(harness, 'one', (call) => {
      if (call.name !== COUNT) return call.proceed();
      counts += 1;
      return fault(call);
    });
    await create(harness);
    expect([await process.value(OPEN), await process.value(UP)]).to.deep.equal([1, 1]);
    const expectAbsent = async (): Promise<void> => {
      expect(await counted(process, OPEN, 0)).to.deep.equal([]);
      expect(await counted(process, OLDEST, 0)).to.deep.equal([]);
      expect(await process.value(UP)).to.equal(0);
      expect(await process.value('darkroom_model_concurrency')).to.be.greaterThan(0);
    };
    fault = () => Promise.reject(new StoreUnavailable('It is away.'));
    await harness.clock.advance(KEPT_MS);
    await expectAbsent();
    expect(await process.value('darkroom_store_failures_total', { port: 'generations' })).to.equal(1);

    fault = async (call) => {
      await gate.wait();
      return call.proceed();
    };
    await harness.clock.advance(KEPT_MS);
    const scrape = expectAbsent();
    await harness.clock.advance(KEPT_MS);
    await scrape;
    for (let n = 0; n < 3; n += 1) {
      await harness.clock.advance(KEPT_MS);
      await expectAbsent();
    }
    expect(counts).to.equal(3);
    fault = (call) => call.proceed();
    gate.open();
    await harness.clock.advance(KEPT_MS);
    expect([await process.value(OPEN), await process.value(UP)]).to.deep.equal([1, 1]);
  });
});
