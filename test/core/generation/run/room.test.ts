import { expect } from 'chai';
import { Worker } from '../../../../apps/worker/worker.js';
import type { Boot } from '../../../../core/boot.js';
import type { Context } from '../../../../core/context.js';
import { StoreUnavailable } from '../../../../core/errors.js';
import { createGeneration } from '../../../../core/generation/create-generation.js';
import { changeGeneration } from '../../../../core/generation/settle-generation.js';
import type { ProviderLimits } from '../../../../core/providers/provider-use.js';
import { MAX_CLOCK_SKEW_MS } from '../../../../core/settings.js';
import type { Interceptor } from '../../../fixtures/intercepted.js';
import { imageModel } from '../../../fixtures/models.js';
import { connectedProviders, imagesOf, ScriptedProvider } from '../../../fixtures/scripted-provider.js';
import { CoreHarness, CoreWorker, Life, untilSettled } from '../../../harness/core-harness.js';

// Goal: waiting for a slot at a provider delays only generations that need one. Finished tasks are collected meanwhile,
// accounts take turns, a task keeps its slot until it is over, and nothing is submitted without a slot.
// Method: providers with limits and tasks that end when the test says so, workers that die or lose their store, and
// catalogs and records that change while generations wait.

interface Opened {
  readonly harness: CoreHarness;
  readonly first: ScriptedProvider;
  readonly second: ScriptedProvider;
}

const route = (...names: readonly string[]) =>
  names.map((provider, index) => ({ provider, settings: {}, weight: index === 0 ? 1 : 0 }));

async function open(limits: Readonly<Record<string, ProviderLimits>>, names = ['first']): Promise<Opened> {
  const [first, second] = [new ScriptedProvider(), new ScriptedProvider()];
  for (const provider of [first, second]) provider.newReport = () => ({ state: 'running' });
  const harness = await CoreHarness.open({
    models: [imageModel({ route: route(...names), onUnknownAcceptance: 'fail' })],
    ports: { providers: connectedProviders({ first, second }, limits) },
  });
  return { harness, first, second };
}

function end(provider: ScriptedProvider, generationId?: string): void {
  for (const task of provider.tasks.values())
    if (task.submission.generationId === (generationId ?? task.submission.generationId))
      task.report = { state: 'succeeded', outputs: imagesOf(1) };
}

const submitted = (provider: ScriptedProvider) => provider.submissions.map(({ generationId }) => generationId);

describe('room at a provider', () => {
  it('is not needed to collect what a worker that died has submitted, though others wait for it', async () => {
    const { harness, first } = await open({ first: { maxConcurrent: 1 } });
    harness.models = [imageModel({ route: route('first'), concurrency: 1, concurrencyPerAccount: 1 })];
    const life = new Life();
    await CoreWorker.start(harness, 'dying', life.interceptor);
    const paid = await harness.create();
    await harness.clock.until(() => first.tasks.size === 1, 'it was submitted');
    life.isDead = true;
    const worker = CoreWorker.idle(harness, 'next');
    const waiting = await harness.create();
    void worker.dispatcher.deliver(waiting.generationId);
    await harness.clock.advance(harness.settings.leaseMs + 1_000);
    expect(submitted(first), 'the share of the dead worker has not lapsed').to.have.length(1);
    end(first);
    void worker.dispatcher.deliver(paid.generationId);
    await harness.clock.advance(5_000);
    expect((await harness.generation(paid.generationId)).status).to.equal('succeeded');
    expect((await harness.generation(waiting.generationId)).status).to.equal('queued');
    first.newReport = () => ({ state: 'succeeded', outputs: imagesOf(1) });
    expect((await untilSettled(harness, waiting.generationId)).status).to.equal('succeeded');
  });

  it('goes to the accounts in turn, also where they ask for different models', async () => {
    const { harness, first } = await open({ first: { maxConcurrent: 1 } });
    harness.models = ['plain-image', 'other-image'].map((modelKey) =>
      imageModel({ modelKey, route: route('first'), concurrency: 8, concurrencyPerAccount: 8 }),
    );
    await CoreWorker.start(harness);
    const few = await harness.newCaller(1_000);
    for (let count = 0; count < 8; count += 1) await harness.create();
    await harness.clock.advance(10);
    const ids: string[] = [];
    for (let count = 0; count < 2; count += 1) {
      const body = harness.body({}, { model_key: 'other-image' });
      ids.push((await createGeneration(harness.context, few, `key-of-few-${count}`, body)).generation.generationId);
    }
    for (let count = 0; count < 4; count += 1) await harness.create();
    await harness.clock.until(() => {
      end(first);
      return first.submissions.length === 6;
    }, 'six have been submitted');
    const order = submitted(first).map((id) => (ids.includes(id) ? 'few' : 'many'));
    expect(
      order.filter((who) => who === 'few'),
      order.join(),
    ).to.have.length(2);
  });

  it('is kept by a task whose run was abandoned, until that is over', async () => {
    const { harness, first } = await open({ first: { maxConcurrent: 1 } });
    let fails = false;
    const worker = await CoreWorker.start(harness, 'worker', async (call) => {
      if (fails && call.name.startsWith('generations.')) throw new StoreUnavailable('The database is away.');
      return call.proceed();
    });
    const left = await harness.create();
    await harness.clock.until(() => first.tasks.size === 1, 'it was submitted');
    await harness.create();
    await harness.clock.advance(1_000);
    fails = true;
    await harness.clock.advance(harness.settings.pollAfterMs + 5_000);
    fails = false;
    expect(worker.dispatcher.counts.running).to.equal(0);
    await harness.clock.advance(harness.settings.leaseMs);
    expect(submitted(first)).to.deep.equal([left.generationId]);
    end(first);
    void worker.dispatcher.deliver(left.generationId);
    await untilSettled(harness, left.generationId);
    await harness.clock.until(() => first.tasks.size === 2, 'the next one has room');
  });

  it('is given back where another worker ended the task of an abandoned run', async () => {
    const { harness, first } = await open({ first: { maxConcurrent: 2 } });
    const life = new Life();
    let isCut = false;
    const worker = await CoreWorker.start(harness, 'worker', async (call) => {
      if (isCut && call.name.startsWith('generations.')) throw new StoreUnavailable('The database is away.');
      return life.interceptor(call);
    });
    const left = await harness.create();
    await harness.clock.until(() => first.tasks.size === 1, 'it was submitted');
    isCut = true;
    await harness.clock.advance(harness.settings.leaseMs + 1_000);
    expect(worker.context.providerGates.seen[0]?.tasks).to.equal(1);
    isCut = false;
    end(first);
    void CoreWorker.idle(harness, 'other').dispatcher.deliver(left.generationId);
    await untilSettled(harness, left.generationId);
    await harness.clock.advance(2 * harness.settings.leaseMs);
    expect(worker.context.providerGates.seen[0]?.tasks).to.equal(0);
  });

  it('is sought at another provider once a new catalog leads there', async () => {
    const { harness, first, second } = await open({ first: { maxConcurrent: 1 }, second: { maxConcurrent: 1 } });
    const worker = await CoreWorker.start(harness);
    for (let count = 0; count < 3; count += 1) await harness.create();
    await harness.clock.advance(5_000);
    expect([first.tasks.size, second.tasks.size]).to.deep.equal([1, 0]);
    harness.models = [imageModel({ route: route('second') })];
    worker.dispatcher.admitWaiting();
    await harness.clock.advance(5_000);
    expect([first.tasks.size, second.tasks.size], 'one each, within both limits').to.deep.equal([1, 1]);
  });

  it('is not looked for without a pause where one that came too late is behind another one', async () => {
    const { harness, first } = await open({ first: { maxConcurrent: 1 } });
    const [model] = harness.models;
    const worker = await CoreWorker.start(harness);
    await harness.create();
    await harness.clock.until(() => first.tasks.size === 1, 'the provider is full');
    await harness.create();
    await harness.clock.advance(10);
    harness.models = [{ ...model!, queueTimeoutMs: 5_000 }];
    await harness.create();
    await harness.clock.advance(10_000);
    let looks = 0;
    const { providerGates } = worker.context;
    const waitFor = providerGates.waitFor.bind(providerGates);
    providerGates.waitFor = (counts) => {
      looks += 1;
      waitFor(counts);
    };
    await harness.clock.advance(1_000);
    expect(looks).to.be.below(20);
  });

  it('stays taken where a worker stops while the store does not say what became of its task', async () => {
    const { harness, first } = await open({ first: { maxConcurrent: 1 } });
    let isAway = false;
    const leaving = await CoreWorker.start(harness, 'leaving', async (call) => {
      if (isAway && call.name.startsWith('generations.')) throw new StoreUnavailable('No answer.');
      return call.proceed();
    });
    await harness.create();
    await harness.clock.until(() => first.tasks.size === 1, 'it was submitted');
    await leaving.context.wakeUps.stop();
    isAway = true;
    await harness.clock.run(leaving.dispatcher.stop(10_000));
    const next = CoreWorker.idle(harness, 'next');
    void next.dispatcher.deliver((await harness.create()).generationId);
    const { providerCallMs } = harness.settings;
    await harness.clock.advance(providerCallMs);
    expect(submitted(first), 'the share is still kept').to.have.length(1);
    await harness.clock.advance(2 * MAX_CLOCK_SKEW_MS);
    expect(submitted(first)).to.have.length(2);
  });

  it('is sought again where the generation has changed since it was read', async () => {
    const { harness, first, second } = await open({ second: { maxConcurrent: 1 } }, ['first', 'second']);
    harness.models = [...harness.models, imageModel({ modelKey: 'other-image', route: route('second') })];
    const occupying = await CoreWorker.start(harness, 'occupying');
    const body = harness.body({}, { model_key: 'other-image' });
    await harness.post('key-of-the-other', body);
    await harness.clock.until(() => second.tasks.size === 1, 'the second provider is full');
    await occupying.context.wakeUps.stop();
    const g = await harness.create();
    let isChanged = false;
    const change = async () => {
      // Another worker finds out that the first provider cannot make it, while this one is about to take it.
      isChanged = true;
      const events = [
        { event: 'start', worker: 'other', leaseMs: 1, token: 't', provider: 'first' },
        { event: 'attempt-undone', retryAt: 0, notHere: 'first', fence: 1 },
      ] as const;
      let { generation } = await changeGeneration(harness.context, g, events[0]);
      ({ generation } = await changeGeneration(harness.context, generation, events[1]));
      return generation;
    };
    let reads = 0;
    const worker = CoreWorker.idle(harness, 'worker', async (call) => {
      reads += call.name === 'generations.read' ? 1 : 0;
      if (reads === 2 && !isChanged) await change();
      return call.proceed();
    });
    void worker.dispatcher.deliver(g.generationId);
    await harness.clock.advance(5_000);
    expect([isChanged, first.submissions.length, second.submissions.length]).to.deep.equal([true, 0, 1]);
    const seen = worker.context.providerGates.seen.map(({ provider, tasks, waiting }) => ({
      provider,
      tasks,
      waiting,
    }));
    expect(seen).to.deep.equal([
      { provider: 'first', tasks: 0, waiting: 0 },
      { provider: 'second', tasks: 0, waiting: 1 },
    ]);
    end(second);
    await harness.clock.until(() => second.submissions.length === 2, 'the second provider has room');
  });
});

describe('the wait before the next attempt', () => {
  it('is not shortened by wake-ups that are delivered twice', async () => {
    const { harness, first } = await open({});
    const failure = { code: 'INTERNAL_ERROR', message: 'It broke.', mayRetry: true, retryAfterMs: 100_000 } as const;
    first.submitScript = [{ refuse: failure }];
    const worker = await CoreWorker.start(harness);
    const at: number[] = [];
    first.onSubmit = () => void at.push(harness.clock.now());
    const { generationId } = await harness.create();
    await harness.clock.until(() => at.length === 1, 'the first attempt failed');
    for (let wakes = 0; wakes < 5; wakes += 1) {
      await harness.clock.advance(10_000);
      void worker.dispatcher.deliver(generationId);
    }
    expect(at).to.have.length(1);
    await harness.clock.until(() => at.length === 2, 'the second attempt begins');
    expect(at[1]! - at[0]!).to.be.within(100_000, 101_000);
  });
});

describe('a failure of our own store during a submission', () => {
  it('is not held against the provider', async () => {
    const { harness, first } = await open({});
    first.onSubmit = () => {
      throw new StoreUnavailable('A reference cannot be read now.');
    };
    const { context } = await CoreWorker.start(harness);
    await harness.create();
    await harness.clock.until(() => first.submissions.length > 0, 'it was submitted');
    await harness.clock.advance(1_000);
    expect(context.providerGates.seen[0]).to.include({ circuit: 'closed' }).and.not.to.have.property('lastError');
  });
});

// Goal: a process starts the generations that it accepts without a stored wake-up, unless other processes could start
// them sooner or it fails to; generations that it had not started when it died are started by the next boot.
// Method: a worker and the creates of one process on memory adapters, whose schedules are counted.

const ALONE: Boot = { id: 'first', isExclusive: true };
const SHARED: Boot = { id: 'first', isExclusive: false };

class Both {
  readonly scheduled: string[] = [];

  private constructor(
    readonly harness: CoreHarness,
    readonly context: Context,
    readonly worker: Worker,
  ) {}

  static async start(boot: Boot, { interceptor = (call) => call.proceed(), concurrency = 2 }: Options = {}) {
    const harness = await CoreHarness.open({
      models: [imageModel({ concurrency, concurrencyPerAccount: concurrency })],
      credits: 10_000,
    });
    return Both.over(harness, boot, interceptor);
  }

  static async over(harness: CoreHarness, boot: Boot, interceptor: Interceptor): Promise<Both> {
    const context = harness.process(interceptor, {}, boot);
    const both = new Both(harness, context, workerOf(context, boot.id));
    const schedule = context.wakeUps.schedule.bind(context.wakeUps);
    context.wakeUps.schedule = async (subject, at) => {
      both.scheduled.push(subject.id);
      await schedule(subject, at);
    };
    await both.worker.start();
    return both;
  }

  async create(): Promise<string> {
    const { harness, context } = this;
    const { generation } = await harness.post(harness.ports.ids.uuid(), harness.body(), { context });
    return generation.generationId;
  }
}

interface Options {
  readonly interceptor?: Interceptor;
  readonly concurrency?: number;
}

function workerOf(context: Context, workerId: string): Worker {
  return new Worker(context, { workerId, recoveryIntervalMs: 5_000, stopGraceMs: 5_000 });
}

describe('what a process accepts', () => {
  it('starts in its worker without a wake-up where there is no other process, also behind others', async () => {
    const both = await Both.start(ALONE);
    const ids = [];
    for (let made = 0; made < 8; made += 1) ids.push(await both.create());
    for (const id of ids) expect(await untilSettled(both.harness, id)).to.have.property('status', 'succeeded');
    expect(both.scheduled).to.deep.equal([]);
  });

  it('starts there over shared stores while there are slots, and is left to all workers otherwise', async () => {
    const both = await Both.start(SHARED);
    both.harness.provider.newReport = () => ({ state: 'running' });
    const ids = [];
    for (let made = 0; made < 5; made += 1) ids.push(await both.create());
    expect(both.scheduled).to.deep.equal(ids.slice(2));
  });

  it('has a wake-up over shared stores while it waits for room at its provider', async () => {
    const { harness, first } = await open({ first: { maxConcurrent: 1 } });
    const both = await Both.over(harness, SHARED, (call) => call.proceed());
    await both.create();
    await harness.clock.until(() => first.tasks.size === 1, 'the provider is full');
    both.scheduled.length = 0;
    const ids = [await both.create(), await both.create()];
    await harness.clock.advance(0);
    expect(both.scheduled).to.deep.equal(ids);
    first.newReport = () => ({ state: 'succeeded', outputs: imagesOf(1) });
    end(first);
    for (const id of ids) expect(await untilSettled(harness, id)).to.include({ status: 'succeeded', attemptsMade: 1 });
    expect(first.submissions).to.have.length(3);
  });

  it('is read once less: the record is known', async () => {
    const calls: string[] = [];
    const counting: Interceptor = (call) => {
      calls.push(call.name);
      return call.proceed();
    };
    const both = await Both.start(ALONE, { interceptor: counting });
    const reads = async (make: () => Promise<string>) => {
      calls.length = 0;
      await untilSettled(both.harness, await make());
      return calls.filter((name) => name === 'generations.read').length;
    };
    const here = await reads(() => both.create());
    const elsewhere = await reads(async () => (await both.harness.create()).generationId);
    expect(here).to.equal(elsewhere - 1);
  });

  it('has a wake-up after all when its worker cannot lease it', async () => {
    let fails = 1;
    const both = await Both.start(ALONE, {
      interceptor: (call) => {
        if (call.name !== 'generations.replace' || fails === 0) return call.proceed();
        fails -= 1;
        throw new StoreUnavailable('The store is away.');
      },
    });
    const id = await both.create();
    expect(await untilSettled(both.harness, id)).to.have.property('status', 'succeeded');
    expect(both.scheduled).to.deep.equal([id]);
  });

  it('has a wake-up when its worker stops before it has a place, and when it is accepted after that', async () => {
    const both = await Both.start(ALONE, { concurrency: 1 });
    both.harness.provider.newReport = () => ({ state: 'running' });
    const [running, waiting] = [await both.create(), await both.create()];
    await both.harness.clock.advance(100);
    await both.harness.clock.run(both.worker.stop());
    const late = await both.create();
    await both.harness.clock.advance(1);
    expect(both.scheduled.filter((id) => id !== running)).to.deep.equal([waiting, late]);
  });

  it('starts at once in the boot after one that died, also where no wake-up was stored', async () => {
    const life = new Life();
    const both = await Both.start(ALONE, { interceptor: life.interceptor, concurrency: 1 });
    both.harness.provider.newReport = () => ({ state: 'running' });
    const ids = [await both.create(), await both.create(), await both.create()];
    await both.harness.clock.advance(100);
    await both.context.wakeUps.stop();
    life.isDead = true;
    both.harness.provider.newReport = () => ({ state: 'succeeded', outputs: imagesOf(1) });
    const next = await Both.over(both.harness, { id: 'second', isExclusive: true }, (call) => call.proceed());
    const at = both.harness.clock.now();
    for (const task of both.harness.provider.tasks.values()) task.report = { state: 'succeeded', outputs: imagesOf(1) };
    await both.harness.clock.until(
      async () => (await both.harness.generations()).every(({ attemptsMade }) => attemptsMade > 0),
      'all have begun',
    );
    expect(both.harness.clock.now() - at, 'nobody waited for recovery').to.be.below(
      both.harness.settings.recoveryGraceMs,
    );
    expect(next.scheduled).to.not.include.members(ids);
  });
});
