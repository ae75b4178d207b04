// Goal: operators see the combined state of all workers for each provider, also for one without limits and after its
// tasks have ended, and stale records are not counted.
// Method: workers in this process on one set of stores, scripted providers, a manual clock; the list is read from another
// process.
import { expect } from 'chai';
import { type ConnectedProvider, listProviders } from '../../../core/providers/list-providers.js';
import { newProviderUse, type ProviderUse, renewShare } from '../../../core/providers/provider-use.js';
import { imageModel } from '../../fixtures/models.js';
import { connectedProviders, PROMISES, ScriptedProvider } from '../../fixtures/scripted-provider.js';
import { CoreHarness, CoreWorker, untilSettled } from '../../harness/core-harness.js';

const MAX_CONCURRENT = 2;

async function open(): Promise<{ harness: CoreHarness; limited: ScriptedProvider; free: ScriptedProvider }> {
  const [limited, free] = [new ScriptedProvider(), new ScriptedProvider()];
  const harness = await CoreHarness.open({
    models: [
      imageModel({ route: [{ provider: 'limited', settings: {}, weight: 1 }] }),
      imageModel({ modelKey: 'other', route: [{ provider: 'free', settings: {}, weight: 3 }] }),
    ],
    ports: { providers: connectedProviders({ limited, free }, { limited: { maxConcurrent: MAX_CONCURRENT } }) },
  });
  return { harness, limited, free };
}

async function listed(harness: CoreHarness, name: string): Promise<ConnectedProvider> {
  const found = (await listProviders(harness.context)).find((one) => one.name === name);
  if (!found) throw new Error(`${name} is not listed.`);
  return found;
}

/** A worker's name, and its report on the provider. */
function reportOf(provider: ConnectedProvider): readonly [string, boolean, number, number][] {
  return provider.workers.map(({ health, isCurrent, tasks, waiting }) => [health.circuit, isCurrent, tasks, waiting]);
}

describe('the list of providers', () => {
  it('has each with its models, limits and promises, before it was ever used', async () => {
    const { harness } = await open();
    expect(await listProviders(harness.context)).to.deep.equal([
      {
        name: 'limited',
        kind: 'scripted',
        limits: { maxConcurrent: MAX_CONCURRENT },
        models: [{ modelKey: 'plain-image', weight: 1, capabilities: PROMISES }],
        circuit: 'closed',
        condition: { state: 'idle', reason: 'Ready. Not used in the last hour.' },
        tasks: 0,
        waiting: 0,
        workers: [],
      },
      {
        name: 'free',
        kind: 'scripted',
        limits: {},
        models: [{ modelKey: 'other', weight: 3, capabilities: PROMISES }],
        circuit: 'closed',
        condition: { state: 'idle', reason: 'Ready. Not used in the last hour.' },
        tasks: 0,
        waiting: 0,
        workers: [],
      },
    ]);
  });

  it('sums tasks and waiting generations over the workers', async () => {
    const { harness, limited } = await open();
    limited.newReport = () => ({ state: 'running' });
    const workers = [await CoreWorker.start(harness, 'one'), await CoreWorker.start(harness, 'two')];
    for (let count = 0; count < 5; count += 1) await harness.create();
    await harness.clock.until(() => limited.tasks.size === MAX_CONCURRENT, 'the limit is reached');
    for (const { context } of workers) await context.providerGates.report();
    const { circuit, tasks, waiting, workers: seen } = await listed(harness, 'limited');
    expect([circuit, tasks, waiting]).to.deep.equal(['closed', MAX_CONCURRENT, 5 - MAX_CONCURRENT]);
    expect(seen.reduce((sum, { slots }) => sum + slots, 0)).to.be.at.most(MAX_CONCURRENT);
  });

  it('keeps what a worker saw of a provider without limits when its tasks have ended', async () => {
    const { harness, free } = await open();
    const worker = await CoreWorker.start(harness);
    const body = harness.body({}, { model_key: 'other' });
    free.submitScript = [
      { refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'It is full.', mayRetry: true }, because: 'capacity' },
      'accept',
    ];
    const { generation } = await harness.post(harness.ports.ids.uuid(), body);
    await untilSettled(harness, generation.generationId);
    await worker.context.providerGates.report();
    const provider = await listed(harness, 'free');
    expect(reportOf(provider)).to.deep.equal([['closed', true, 0, 0]]);
    expect(provider.workers[0]?.health.lastError?.message).to.equal('It is full.');
    expect(provider.workers[0]?.health.medianSubmitMs).to.be.a('number');
  });

  it('counts nothing of a worker that was not heard from for a minute', async () => {
    const { harness, limited } = await open();
    limited.newReport = () => ({ state: 'running' });
    const dying = CoreWorker.idle(harness);
    const { generationId } = await harness.create();
    void dying.dispatcher.deliver(generationId);
    await harness.clock.until(() => limited.tasks.size === 1, 'its task is submitted');
    await dying.context.providerGates.report();
    expect((await listed(harness, 'limited')).tasks).to.equal(1);
    harness.clock.jump(61_000);
    const { tasks, workers } = await listed(harness, 'limited');
    expect([tasks, workers.map(({ isCurrent }) => isCurrent)]).to.deep.equal([0, [false]]);
  });
});

describe('a worker whose clock was ahead at its last renewal', () => {
  it('is not current', async () => {
    const { harness, limited } = await open();
    limited.newReport = () => ({ state: 'running' });
    const dying = CoreWorker.idle(harness);
    void dying.dispatcher.deliver((await harness.create()).generationId);
    await harness.clock.until(() => limited.tasks.size === 1, 'its task is submitted');
    await dying.context.providerGates.report();
    harness.clock.jump(-7_200_000);
    expect((await listed(harness, 'limited')).workers.map(({ isCurrent }) => isCurrent)).to.deep.equal([false]);
  });
});

describe('what idle workers saw', () => {
  const limits = {};
  const reported = (use: ProviderUse, worker: string, now: number): ProviderUse =>
    renewShare(
      use,
      { worker, inUse: 0, wanted: 0, again: 0, left: 0, isPaused: false, health: { circuit: 'closed' } },
      { limits, now, others: [] },
    ).next;

  it('is dated to the present where the worker was gone with a clock far ahead', () => {
    const ahead = 7_200_000;
    const terms = { limits, now: ahead, others: [] };
    const request = { inUse: 1, wanted: 1, again: 0, left: 0, isPaused: false, health: { circuit: 'closed' } } as const;
    const { next } = renewShare(newProviderUse('p', terms), { ...request, worker: 'gone' }, terms);
    expect(reported(next, 'w', 100).idle?.map(({ seenAt }) => seenAt)).to.deep.equal([100, 100]);
  });

  it('is kept for an hour, of 32 workers at most, each once', () => {
    let use = newProviderUse('p', { limits, now: 0 });
    for (let n = 0; n < 40; n += 1) use = reported(use, `w${n % 39}`, n);
    expect(use.idle?.map(({ worker }) => worker)).to.deep.equal([
      ...Array.from({ length: 31 }, (_, n) => `w${n + 8}`),
      'w0',
    ]);
    expect(reported(use, 'new', 3_600_000 + 39).idle?.map(({ worker }) => worker)).to.deep.equal(['new']);
  });

  it('is no longer apart once the worker has a share, and takes no slot of others', () => {
    const terms = { limits: { maxConcurrent: 1 }, now: 5, others: [] };
    const idle = reported(newProviderUse('p', terms), 'w', 0);
    const request = { inUse: 0, wanted: 1, again: 0, left: 0, isPaused: false, health: { circuit: 'closed' } } as const;
    expect(renewShare(idle, { ...request, worker: 'other' }, terms).slots).to.equal(1);
    expect(renewShare(idle, { ...request, worker: 'w' }, terms).next).to.not.have.property('idle');
  });

  it('includes a worker that is gone with its share', () => {
    const terms = { limits, now: 0, others: [] };
    const request = { inUse: 1, wanted: 1, again: 0, left: 0, isPaused: false, health: { circuit: 'closed' } } as const;
    const { next } = renewShare(newProviderUse('p', terms), { ...request, worker: 'gone' }, terms);
    const after = reported(next, 'w', 100_000);
    expect([after.shares, after.idle?.map(({ worker, seenAt }) => [worker, seenAt])]).to.deep.equal([
      [],
      [
        ['gone', 0],
        ['w', 100_000],
      ],
    ]);
  });
});
