import { expect } from 'chai';
import type { Generation } from '../../../../core/generation/generation.js';
import type { Provider } from '../../../../core/ports/provider.js';
import type { ProviderLimits } from '../../../../core/providers/provider-use.js';
import { Recovery } from '../../../../core/recovery/recover.js';
import { expectBooksRight } from '../../../fixtures/ledgers.js';
import { catalogOf, imageModel } from '../../../fixtures/models.js';
import { connectedProviders, imagesOf, PROMISES, ScriptedProvider } from '../../../fixtures/scripted-provider.js';
import { CoreHarness, CoreWorker, untilSettled } from '../../../harness/core-harness.js';

// Goal: a model with several providers moves to the next one when one certainly does not make the task, and never while
// one may have it; limits hold for all workers together; a provider that fails is not used for a while.
// Method: two scripted providers, one or two workers, a manual clock.

const FAILURE = { code: 'MODEL_UNAVAILABLE', message: 'The model is no longer offered.', mayRetry: false } as const;
const FULL = {
  refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'It is full.', mayRetry: true, retryAfterMs: 30_000 },
  because: 'capacity',
} as const;
const NOT_HERE = { refuse: FAILURE, because: 'not-here' } as const;

interface Opened {
  readonly harness: CoreHarness;
  readonly first: ScriptedProvider;
  readonly second: ScriptedProvider;
}

async function open(limits: Readonly<Record<string, ProviderLimits>> = {}, workers = 1): Promise<Opened> {
  const first = new ScriptedProvider();
  const second = new ScriptedProvider();
  const route = ['first', 'second'].map((provider, index) => ({
    provider,
    settings: { of: provider },
    weight: index === 0 ? 1 : 0,
  }));
  const harness = await CoreHarness.open({
    models: [imageModel({ route, onUnknownAcceptance: 'fail' })],
    ports: { providers: connectedProviders({ first, second }, limits) },
  });
  for (let count = 0; count < workers; count += 1) await CoreWorker.start(harness, `worker-${count}`);
  return { harness, first, second };
}

async function settled(harness: CoreHarness): Promise<Generation> {
  return untilSettled(harness, (await harness.create()).generationId);
}

/** The number of tasks that are still running at the provider. */
function runningTasks(provider: ScriptedProvider): number {
  return [...provider.tasks.values()].filter(({ report }) => report.state === 'running').length;
}

/** The most of these times that lie within any 60 seconds. */
function mostInMinute(at: readonly number[]): number {
  return Math.max(...at.map((time) => at.filter((other) => other >= time && other < time + 60_000).length));
}

describe('a model with several providers', () => {
  it('is made by the first one, with the settings for it', async () => {
    const { harness, first, second } = await open();
    const g = await settled(harness);
    expect([g.status, g.attempt?.provider, second.submissions.length]).to.deep.equal(['succeeded', 'first', 0]);
    expect(first.submissions[0]?.settings).to.deep.equal({ of: 'first' });
  });

  for (const [why, script] of [
    ['is full', FULL],
    ['cannot make it', NOT_HERE],
  ] as const) {
    it(`is made by the next one, immediately, when one ${why}`, async () => {
      const { harness, first, second } = await open();
      first.submitScript = [script];
      const startedAt = harness.clock.now();
      const g = await settled(harness);
      expect([g.status, g.attempt?.provider, g.attemptsMade, g.chargedCredits]).to.deep.equal([
        'succeeded',
        'second',
        1,
        10,
      ]);
      expect((g.completedAt ?? Infinity) - startedAt).to.be.below(5_000);
      expect(second.submissions[0]?.token).to.not.equal(first.submissions[0]?.token);
      expect(second.submissions[0]?.settings).to.deep.equal({ of: 'second' });
    });
  }

  it('fails without charge, in the words of the last one, when none can make it', async () => {
    const { harness, first, second } = await open();
    first.submitScript = [NOT_HERE];
    second.submitScript = [NOT_HERE];
    const g = await settled(harness);
    expect([
      g.status,
      g.error?.code,
      g.chargedCredits,
      first.submissions.length,
      second.submissions.length,
    ]).to.deep.equal(['failed', 'MODEL_UNAVAILABLE', 0, 1, 1]);
  });

  it('is never given to the next one while one may have it', async () => {
    const { harness, first, second } = await open();
    first.submitScript = ['take-and-throw'];
    first.recoverScript = 'unsupported';
    const g = await settled(harness);
    expect([g.status, g.chargedCredits, first.submissions.length, second.submissions.length]).to.deep.equal([
      'failed',
      0,
      1,
      0,
    ]);
  });

  it('waits for the one that has room first when all are full', async () => {
    const { harness, first, second } = await open();
    first.submitScript = [{ ...FULL, refuse: { ...FULL.refuse, retryAfterMs: 60_000 } }, 'accept'];
    second.submitScript = [FULL, 'accept'];
    const startedAt = harness.clock.now();
    const g = await settled(harness);
    expect([g.status, g.attempt?.provider, g.attemptsMade]).to.deep.equal(['succeeded', 'second', 1]);
    expect((g.completedAt ?? 0) - startedAt).to.be.within(30_000, 35_000);
  });

  it('passes by a provider that has answered nothing several times, until it works again', async () => {
    const { harness, first, second } = await open();
    first.promised = { ...PROMISES, settleMs: 1_000_000 };
    first.submitScript = ['throw', 'throw', 'throw', 'throw', 'throw', 'accept'];
    const lost = await Promise.all(Array.from({ length: 5 }, () => harness.create()));
    await harness.clock.until(() => first.submissions.length === 5, 'five submissions were lost');
    expect((await settled(harness)).attempt?.provider).to.equal('second');
    await harness.clock.advance(120_000);
    expect((await settled(harness)).attempt?.provider).to.equal('first');
    expect(second.submissions).to.have.length(1);
    expect(lost).to.have.length(5);
  });
});

describe('the limits of a provider', () => {
  it('hold for the tasks of all workers together, and everything is made in the end', async () => {
    const { harness, first, second } = await open({ first: { maxConcurrent: 3 }, second: { maxConcurrent: 1 } }, 3);
    const most = [0, 0];
    for (const [index, provider] of [first, second].entries()) {
      provider.newReport = () => ({ state: 'running' });
      provider.onSubmit = ({ token }) => {
        harness.clock.after(20_000, () => {
          const task = [...provider.tasks.values()].find(({ submission }) => submission.token === token);
          if (task) task.report = { state: 'succeeded', outputs: [{ kind: 'image', mediaType: 'image/png' }] };
        });
        // The one that is submitted is about to run.
        most[index] = Math.max(most[index]!, runningTasks(provider) + 1);
      };
    }
    const all = await Promise.all(Array.from({ length: 14 }, () => harness.create()));
    for (const { generationId } of all)
      expect((await untilSettled(harness, generationId)).status, generationId).to.equal('succeeded');
    expect(runningTasks(first) + runningTasks(second)).to.equal(0);
    expect(most, 'all that each may have, and no more').to.deep.equal([3, 1]);
    expect(first.tasks.size + second.tasks.size, 'each was made once').to.equal(14);
    expect([first.tasks.size > 3, second.tasks.size > 1]).to.deep.equal([true, true]);
  });

  it('bound the submissions of a minute', async () => {
    const { harness, first } = await open({ first: { maxSubmissionsPerMinute: 8 } }, 2);
    harness.models = harness.models.map((model) => ({ ...model, route: model.route.slice(0, 1) }));
    const at: number[] = [];
    first.onSubmit = () => void at.push(harness.clock.now());
    const all = await Promise.all(Array.from({ length: 20 }, () => harness.create()));
    for (const { generationId } of all)
      expect((await untilSettled(harness, generationId)).status).to.equal('succeeded');
    // The bucket refills more slowly than the limit, for clocks that differ.
    expect(mostInMinute(at)).to.be.within(6, 8);
  });

  it('bound the submissions of a minute also where tasks are submitted again and again', async () => {
    const { harness, first } = await open({ first: { maxSubmissionsPerMinute: 8 } }, 2);
    harness.models = harness.models.map((model) => ({
      ...model,
      route: model.route.slice(0, 1),
      onUnknownAcceptance: 'resubmit' as const,
    }));
    first.submitScript = ['throw'];
    first.recoverScript = 'unsupported';
    const at: number[] = [];
    first.onSubmit = () => void at.push(harness.clock.now());
    await Promise.all(Array.from({ length: 8 }, () => harness.create()));
    await harness.clock.advance(300_000);
    expect(at.length).to.be.above(8);
    // The bucket refills more slowly than the limit, for clocks that differ.
    expect(mostInMinute(at)).to.be.within(6, 8);
  });

  it('leave a submission for a task that was certainly not taken', async () => {
    const { harness, first } = await open({ first: { maxSubmissionsPerMinute: 60 } });
    first.submitScript = ['throw', 'accept'];
    const g = await settled(harness);
    expect([g.status, g.attemptsMade, first.submissions.length]).to.deep.equal(['succeeded', 1, 2]);
  });

  it('let a generation that waits for room be cancelled, without charge', async () => {
    const { harness, first, second } = await open({ first: { maxConcurrent: 1 }, second: { maxConcurrent: 1 } });
    for (const provider of [first, second]) provider.newReport = () => ({ state: 'running' });
    const all = [await harness.create(), await harness.create(), await harness.create()];
    await harness.clock.until(() => first.tasks.size + second.tasks.size === 2, 'two are made');
    const waiting = all.find(({ generationId }) =>
      [...first.submissions, ...second.submissions].every((one) => one.generationId !== generationId),
    )!;
    expect((await harness.generation(waiting.generationId)).status).to.equal('queued');
    await harness.cancel(waiting.generationId);
    const g = await untilSettled(harness, waiting.generationId);
    expect([g.status, g.chargedCredits]).to.deep.equal(['cancelled', 0]);
    expect(first.tasks.size + second.tasks.size).to.equal(2);
  });

  it('are given back by a worker that stops', async () => {
    const { harness, first } = await open({ first: { maxConcurrent: 2 } }, 0);
    const worker = await CoreWorker.start(harness);
    await harness.create();
    await harness.clock.until(() => first.submissions.length === 1, 'one is submitted');
    expect((await harness.ports.providerUses.read('first'))?.shares[0]?.slots).to.be.above(0);
    let hasStopped: boolean | undefined;
    void worker.dispatcher.stop(10_000).then((ended) => (hasStopped = ended));
    await harness.clock.until(() => hasStopped !== undefined, 'the worker has stopped');
    expect((await harness.ports.providerUses.read('first'))?.shares).to.deep.equal([]);
  });

  it('are given up by a worker that has nothing to do', async () => {
    const { harness } = await open({ first: { maxConcurrent: 2 } });
    await settled(harness);
    await harness.clock.advance(60_000);
    expect((await harness.ports.providerUses.read('first'))?.shares).to.deep.equal([]);
  });
});

// Goal: tasks whose provider is removed from the route or the configuration are never submitted elsewhere; operators are
// notified immediately and then once per minute; and the tasks continue if the provider is restored in time.
// Method: a worker stops with tasks at one of two providers; the next worker's catalog or configuration omits it.

const EVENT = 'provider of a task missing';
const RUN_MS = 600_000;

const entry = (provider: string, weight = 1) => ({ provider, settings: {}, weight });
const modelAt = (...route: ReturnType<typeof entry>[]) =>
  imageModel({ route, runTimeoutMs: RUN_MS, concurrency: 20, concurrencyPerAccount: 20 });

describe('a provider that is taken out while it has tasks', () => {
  let harness: CoreHarness;
  let going: ScriptedProvider;
  let staying: ScriptedProvider;
  /** The configured providers; a test may change them, like a restart with another configuration. */
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
  async function runningLeft(count: number): Promise<readonly string[]> {
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
      const ids = await runningLeft(5);
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
      const ids = await runningLeft(3);
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
      const [id = ''] = await runningLeft(1);
      takeOut();
      await CoreWorker.start(harness, 'next');
      const g = await untilSettled(harness, id);
      expect([g.status, g.error?.code, g.chargedCredits]).to.deep.equal(['failed', 'MODEL_UNAVAILABLE', 0]);
      expect([going.submissions.length, staying.submissions.length]).to.deep.equal([1, 0]);
    });
  }

  it('is not warned of with weight 0, which keeps its tasks, nor for what has no task at a provider', async () => {
    const ids = await runningLeft(2);
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

// Goal: a worker that does not know a generation's model leaves it to one that does; the generation fails only at its
// deadline, without charge.
// Method: workers on the same memory stores with different catalogs, on a manual clock; reads are counted.

const QUEUE_MS = 600_000;
const NOTHING = catalogOf(() => []);

describe('a worker that does not know the model', () => {
  let harness: CoreHarness;
  beforeEach(async () => {
    harness = await CoreHarness.open({ models: [imageModel({ queueTimeoutMs: QUEUE_MS, runTimeoutMs: QUEUE_MS })] });
  });

  async function expectFailedWithoutCharge(g: Generation, earliestAt: number): Promise<void> {
    expect([g.status, g.error?.code, g.error?.retryable, g.chargedCredits]).to.deep.equal([
      'failed',
      'MODEL_UNAVAILABLE',
      false,
      0,
    ]);
    expect(g.completedAt).to.be.at.least(earliestAt);
    const account = await harness.account();
    expect([account.holds.size, account.available]).to.deep.equal([0, 1_000]);
    expectBooksRight(account, await harness.entries());
  }

  it('fails a queued generation at the queue deadline, and examines it a bounded number of times until then', async () => {
    let looks = 0;
    const { generationId, terms } = await harness.create();
    harness.models = [];
    await CoreWorker.start(harness, 'worker', (call) => {
      if (call.name === 'generations.read') looks += 1;
      return call.proceed();
    });
    const g = await untilSettled(harness, generationId);
    await expectFailedWithoutCharge(g, terms.queueDeadlineAt);
    expect(g.attemptsMade).to.equal(0);
    // The interval is a second at first, grows by a quarter each time to a minute, and stays there. Each look takes two
    // reads, by the dispatcher and for the lease.
    const growing = 4 + Math.log(60) / Math.log(1.25);
    expect(looks).to.be.within(2 * growing, 2 * (growing + QUEUE_MS / 60_000 + 2));
  });

  it('fails one whose provider is not connected in the same way', async () => {
    const { generationId, terms } = await harness.create();
    harness.models = [imageModel({ route: [{ provider: 'gone', settings: {}, weight: 1 }] })];
    await CoreWorker.start(harness);
    await expectFailedWithoutCharge(await untilSettled(harness, generationId), terms.queueDeadlineAt);
  });

  it('is recognised by recovery, which ends what no worker ran', async () => {
    const { generationId, terms } = await harness.create();
    harness.models = [];
    await harness.clock.advance(QUEUE_MS + 1);
    await harness.clock.run(new Recovery(harness.context).pass());
    await expectFailedWithoutCharge(await untilSettled(harness, generationId), terms.queueDeadlineAt);
  });

  it('leaves a queued generation to a worker that knows it', async () => {
    const { generationId } = await harness.create();
    const ignorant = CoreWorker.idle(harness, 'ignorant', undefined, { catalog: NOTHING });
    await ignorant.dispatcher.deliver(generationId);
    expect((await harness.generation(generationId)).status).to.equal('queued');
    await CoreWorker.start(harness, 'knowing');
    expect((await untilSettled(harness, generationId)).status).to.equal('succeeded');
  });

  it('runs it once its own catalog has the model', async () => {
    const { generationId } = await harness.create();
    const known = harness.models;
    harness.models = [];
    await CoreWorker.start(harness);
    await harness.clock.advance(QUEUE_MS / 2);
    expect((await harness.generation(generationId)).status).to.equal('queued');
    harness.models = known;
    expect((await untilSettled(harness, generationId)).status).to.equal('succeeded');
  });

  it('leaves a running generation without a holder to a worker that knows it', async () => {
    const generationId = await leftRunning(harness);
    const ignorant = CoreWorker.idle(harness, 'ignorant', undefined, { catalog: NOTHING });
    const before = await harness.generation(generationId);
    await ignorant.dispatcher.deliver(generationId);
    expect(await harness.generation(generationId)).to.deep.equal(before);
    harness.provider.onlyTask.report = {
      state: 'failed',
      failure: { code: 'PROVIDER_REJECTED', message: 'No.', mayRetry: false },
    };
    await CoreWorker.start(harness, 'knowing');
    expect((await untilSettled(harness, generationId)).error?.code).to.equal('PROVIDER_REJECTED');
  });

  it('fails a running generation without a holder at the run deadline', async () => {
    const generationId = await leftRunning(harness);
    harness.models = [];
    await CoreWorker.start(harness, 'ignorant');
    const { runDeadlineAt } = await harness.generation(generationId);
    await expectFailedWithoutCharge(await untilSettled(harness, generationId), runDeadlineAt as number);
  });
});

/** The id of a generation whose worker started it, then stopped and handed its lease back. */
async function leftRunning(harness: CoreHarness): Promise<string> {
  const worker = await CoreWorker.start(harness, 'leaving');
  harness.provider.newReport = () => ({ state: 'running' });
  const { generationId } = await harness.create();
  await harness.clock.advance(5_000);
  await worker.context.wakeUps.stop();
  await harness.clock.run(worker.dispatcher.stop(1_000));
  return generationId;
}
