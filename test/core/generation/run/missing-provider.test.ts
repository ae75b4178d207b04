// Goal: tasks whose provider is taken out of the route or the configuration are never submitted elsewhere; operators are told at
// once and once a minute; and the tasks go on when the provider is put back in time.
// Method: a worker stops with tasks at one of two providers; the next one has a catalog or a configuration without it.
import { expect } from 'chai';
import type { Provider } from '../../../../core/ports/provider.js';
import { imageModel } from '../../../fixtures/core-models.js';
import { connectedProviders } from '../../../fixtures/connected-providers.js';
import { imagesOf, ScriptedProvider } from '../../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../../harness/core-worker.js';

const EVENT = 'provider of a task missing';
const RUN_MS = 600_000;

const entry = (provider: string, weight = 1) => ({ provider, settings: {}, weight });
const modelAt = (...route: ReturnType<typeof entry>[]) =>
  imageModel({ route, runTimeoutMs: RUN_MS, concurrency: 20, concurrencyPerAccount: 20 });

describe('a provider that is taken out while it has tasks', () => {
  let harness: CoreHarness;
  let going: ScriptedProvider;
  let staying: ScriptedProvider;
  /** What the configuration has; may be changed as by a restart with another one. */
  let connected: Record<string, Provider>;
  beforeEach(async () => {
    [going, staying] = [new ScriptedProvider(), new ScriptedProvider()];
    connected = { going, staying };
    harness = await CoreHarness.open({
      models: [modelAt(entry('going'), entry('staying', 0))],
      ports: { providers: { ...connectedProviders({}), find: (name) => connected[name] } },
    });
  });

  /** The ids of generations with tasks at the provider, whose worker has stopped. */
  async function leftRunning(count: number): Promise<readonly string[]> {
    going.newReport = () => ({ state: 'running' });
    const worker = await CoreWorker.start(harness, 'stopping');
    const made = await Promise.all(Array.from({ length: count }, () => harness.create()));
    await harness.clock.until(() => going.tasks.size === count, 'all have tasks');
    await worker.context.wakeUps.stop();
    await harness.clock.run(worker.dispatcher.stop(1_000));
    return made.map(({ generationId }) => generationId);
  }

  const warned = () => harness.warnings.filter(({ event }) => event === EVENT).map(({ about }) => about);

  const WAYS = {
    route: () => void (harness.models = [modelAt(entry('staying'))]),
    configuration: () => {
      harness.models = [modelAt(entry('staying'))];
      delete connected['going'];
    },
    catalog: () => void (harness.models = []),
  } as const;

  for (const [missingIn, takeOut] of Object.entries(WAYS)) {
    it(`is warned of for each minute, not for each task, where it is missing in the ${missingIn}`, async () => {
      const ids = await leftRunning(5);
      takeOut();
      await CoreWorker.start(harness, 'next');
      await harness.clock.advance(5_000);
      expect(warned()).to.have.length(1);
      const { generationId, ...about } = warned()[0]!;
      expect(about).to.deep.equal({ model: 'plain-image', provider: 'going', missingIn });
      expect(ids).to.include(generationId);
      await harness.clock.advance(240_000);
      expect(warned().length).to.be.within(3, 5);
    });

    it(`has its tasks asked about again once it is put back where it was missing: in the ${missingIn}`, async () => {
      const ids = await leftRunning(3);
      takeOut();
      await CoreWorker.start(harness, 'next');
      await harness.clock.advance(RUN_MS / 2);
      harness.models = [modelAt(entry('going', 0), entry('staying'))];
      connected = { going, staying };
      for (const task of going.tasks.values()) task.report = { state: 'succeeded', outputs: imagesOf(1) };
      for (const id of ids)
        expect(await untilSettled(harness, id)).to.include({
          status: 'succeeded',
          attemptsMade: 1,
          chargedCredits: 10,
        });
      expect([going.submissions.length, staying.submissions.length]).to.deep.equal([3, 0]);
    });

    it(`fails its tasks at their deadline, without charge or another submission: missing in the ${missingIn}`, async () => {
      const [id = ''] = await leftRunning(1);
      takeOut();
      await CoreWorker.start(harness, 'next');
      const g = await untilSettled(harness, id);
      expect([g.status, g.error?.code, g.chargedCredits]).to.deep.equal(['failed', 'MODEL_UNAVAILABLE', 0]);
      expect([going.submissions.length, staying.submissions.length]).to.deep.equal([1, 0]);
    });
  }

  it('is not warned of with weight 0, which keeps its tasks, nor for what has no task at a provider', async () => {
    const ids = await leftRunning(2);
    harness.models = [modelAt(entry('staying'), entry('going', 0))];
    for (const task of going.tasks.values()) task.report = { state: 'succeeded', outputs: imagesOf(1) };
    await CoreWorker.start(harness, 'next');
    for (const id of ids) expect((await untilSettled(harness, id)).status).to.equal('succeeded');
    harness.models = [modelAt(entry('going'))];
    const { generationId } = await harness.create();
    harness.models = [modelAt(entry('elsewhere'))];
    await harness.clock.advance(120_000);
    expect((await harness.generation(generationId)).status).to.equal('queued');
    expect(warned()).to.deep.equal([]);
  });
});
