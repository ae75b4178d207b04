// Goal: a process begins what it accepts without a stored wake-up, unless other processes could begin it sooner or it fails
// to; and what it had not begun when it died is begun by the boot after it.
// Method: a worker and the creates of one process on memory adapters, whose schedules are counted.
import { expect } from 'chai';
import { Worker } from '../../../../apps/worker/worker.js';
import type { Boot } from '../../../../core/boot.js';
import type { Context } from '../../../../core/context.js';
import { StoreUnavailable } from '../../../../core/errors.js';
import { createGeneration } from '../../../../core/generation/create-generation.js';
import { imageModel } from '../../../fixtures/core-models.js';
import type { Interceptor } from '../../../fixtures/intercepted.js';
import { imagesOf } from '../../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { untilSettled } from '../../../harness/core-worker.js';
import { Life } from '../../../harness/cut-processes.js';

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
    const { generation } = await createGeneration(context, harness.caller, harness.ports.ids.uuid(), harness.body());
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
  it('is begun by its worker without a wake-up where no other process is, also behind others', async () => {
    const both = await Both.start(ALONE);
    const ids = [];
    for (let made = 0; made < 8; made += 1) ids.push(await both.create());
    for (const id of ids) expect(await untilSettled(both.harness, id)).to.have.property('status', 'succeeded');
    expect(both.scheduled).to.deep.equal([]);
  });

  it('is begun so over shared stores as far as there are places, and left to all workers otherwise', async () => {
    const both = await Both.start(SHARED);
    both.harness.provider.newReport = () => ({ state: 'running' });
    const ids = [];
    for (let made = 0; made < 5; made += 1) ids.push(await both.create());
    expect(both.scheduled).to.deep.equal(ids.slice(2));
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

  it('is begun at once by the boot after one that died, also where no wake-up was stored', async () => {
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
