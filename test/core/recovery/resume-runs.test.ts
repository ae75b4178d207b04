// Goal: at its start, a process with exclusive stores continues what the previous process was running, without waiting
// for a lease, page by page, and nothing else; over shared stores it waits.
// Method: a worker dies in the middle of its runs, and the worker of another boot starts at the same moment.
import { expect } from 'chai';
import { Worker } from '../../../apps/worker/worker.js';
import type { Boot } from '../../../core/boot.js';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { pause } from '../../../core/waiting.js';
import { imageModel } from '../../fixtures/core-models.js';
import { Gate, type Interceptor } from '../../fixtures/intercepted.js';
import { expectAtRest } from '../../fixtures/recovery-passes.js';
import { codeOf } from '../../fixtures/refusals.js';
import { imagesOf } from '../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../harness/core-worker.js';
import { Life } from '../../harness/cut-processes.js';

const FIRST: Boot = { id: 'first', isExclusive: true };
const SECOND: Boot = { id: 'second', isExclusive: true };

interface Killed {
  readonly harness: CoreHarness;
  readonly ids: readonly string[];
}

/** This many generations are running, and their worker is dead. */
async function killed(running: number, { boot = FIRST, hangs = false, settings = {} } = {}): Promise<Killed> {
  const harness = await CoreHarness.open({
    models: [imageModel({ concurrency: 50, concurrencyPerAccount: 50 })],
    credits: 10_000,
    settings,
  });
  harness.provider.newReport = () => ({ state: 'running' });
  if (hangs) harness.provider.submitScript = Array.from({ length: running }, () => 'hang' as const);
  const life = new Life();
  const first = await CoreWorker.start(harness, 'first', life.interceptor, boot);
  const ids: string[] = [];
  for (let made = 0; made < running; made += 1) ids.push((await harness.create()).generationId);
  await harness.clock.advance(1_000);
  await first.context.wakeUps.stop();
  life.isDead = true;
  return { harness, ids };
}

async function startWorker(harness: CoreHarness, boot: Boot, interceptor?: Interceptor): Promise<Worker> {
  const worker = new Worker(harness.process(interceptor, {}, boot), {
    workerId: 'second',
    recoveryIntervalMs: 15_000,
    stopGraceMs: 1_000,
  });
  await harness.clock.run(worker.start());
  await harness.clock.advance(0);
  return worker;
}

describe('a start on stores that are exclusive', () => {
  it('continues immediately what the previous boot was running, under new fences and without another submission', async () => {
    const { harness, ids } = await killed(12, { settings: { recoveryBatch: 5 } });
    const at = harness.clock.now();
    await startWorker(harness, SECOND);
    await harness.clock.advance(10);
    for (const id of ids)
      expect((await harness.generation(id)).lease, id).to.include({ worker: 'second', fence: 2, bootId: 'second' });
    expect(harness.clock.now() - at, 'no lease was waited for').to.be.below(harness.settings.leaseMs);
    for (const task of harness.provider.tasks.values()) task.report = { state: 'succeeded', outputs: imagesOf(1) };
    for (const id of ids)
      expect(await untilSettled(harness, id)).to.include({ status: 'succeeded', attemptsMade: 1, chargedCredits: 10 });
    expect(harness.provider.submissions).to.have.length(ids.length);
    await expectAtRest(harness, ids.length);
  });

  it('reads what is due in pages, once, and takes over first what was leased, then what was queued', async () => {
    const { harness, ids } = await killed(7, { settings: { recoveryBatch: 3 } });
    const queued: string[] = [];
    for (let made = 0; made < 9; made += 1) queued.push((await harness.create()).generationId);
    const pages: number[] = [];
    const taken: string[] = [];
    const context = harness.process(
      async (call) => {
        const answer = await call.proceed();
        if (call.name === 'generations.due') pages.push((answer as readonly unknown[]).length);
        return answer;
      },
      {},
      SECOND,
    );
    const recovery = new Recovery(context, ({ generationId }) => {
      taken.push(generationId);
      return Promise.reject(new Error('It is left to recovery.'));
    });
    await harness.clock.run(recovery.resume());
    await harness.clock.run(recovery.resume());
    expect(taken.slice(0, ids.length)).to.have.members(ids);
    expect(taken.slice(ids.length)).to.have.ordered.members(queued);
    expect(pages).to.deep.equal([3, 3, 3, 3, 3, 1]);
  });

  it('waits for the lease of an attempt whose submission may be in flight, and no longer', async () => {
    const {
      harness,
      ids: [id = ''],
    } = await killed(1, { hangs: true });
    const lapsesAt = (await harness.generation(id)).lease?.expiresAt ?? 0;
    await startWorker(harness, SECOND);
    await harness.clock.advance(lapsesAt - harness.clock.now());
    expect((await harness.generation(id)).lease).to.include({ worker: 'first', fence: 1 });
    expect(harness.provider.recovers, 'nobody has asked the provider').to.equal(0);
    await harness.clock.advance(10);
    expect((await harness.generation(id)).lease).to.include({ worker: 'second', fence: 2 });
  });

  it('gives the continued ones their places before it takes new ones, however slow its stores are', async () => {
    const harness = await CoreHarness.open({
      models: [imageModel({ concurrency: 2, concurrencyPerAccount: 2 })],
      credits: 10_000,
    });
    harness.provider.newReport = () => ({ state: 'running' });
    const life = new Life();
    const first = await CoreWorker.start(harness, 'first', life.interceptor, FIRST);
    const ids = [(await harness.create()).generationId, (await harness.create()).generationId];
    await harness.clock.advance(1_000);
    await first.context.wakeUps.stop();
    life.isDead = true;
    const cut = new Set(ids);
    for (let made = 0; made < 20; made += 1) ids.push((await harness.create()).generationId);
    let reads = 0;
    await startWorker(harness, SECOND, async (call) => {
      if (call.name === 'wakeUps.schedule') await pause(harness.clock, 40);
      // The first read is answered last.
      if (call.name === 'generations.read') await pause(harness.clock, 40 - (reads += 1));
      return call.proceed();
    });
    await harness.clock.advance(1_000);
    for (const id of ids) expect((await harness.generation(id)).fence, id).to.equal(cut.has(id) ? 2 : 0);
  });

  it('serves even if a store does not answer, and continues them in the first pass that can', async () => {
    const { harness, ids } = await killed(3);
    let isAway = true;
    await startWorker(harness, SECOND, async (call) => {
      if (isAway && call.name === 'generations.due') throw new Error('The store is away.');
      return call.proceed();
    });
    for (const id of ids) expect((await harness.generation(id)).fence).to.equal(1);
    isAway = false;
    await harness.clock.advance(15_010);
    for (const id of ids) expect((await harness.generation(id)).fence).to.equal(2);
  });

  it('takes nothing when it is asked to stop before it has begun', async () => {
    const { harness, ids } = await killed(2);
    const gate = new Gate();
    const worker = new Worker(
      harness.process(
        async (call) => {
          if (call.name === 'generations.due') await gate.wait();
          return call.proceed();
        },
        {},
        SECOND,
      ),
      { workerId: 'second', recoveryIntervalMs: 15_000, stopGraceMs: 1_000 },
    );
    const started = worker.start();
    expect(await harness.clock.run(worker.stop())).to.equal(true);
    gate.open();
    await harness.clock.run(started);
    await harness.clock.advance(60_000);
    for (const id of ids) expect((await harness.generation(id)).fence).to.equal(1);
  });

  it('answers the retry of an interrupted create immediately, and creates one generation', async () => {
    const harness = await CoreHarness.open();
    const life = new Life();
    const dying = harness.process(
      async (call) => {
        if (call.name === 'generations.insert') life.isDead = true;
        return life.interceptor(call);
      },
      {},
      FIRST,
    );
    void createGeneration(dying, harness.caller, 'k', harness.body()).catch(() => undefined);
    await harness.clock.advance(10);
    const again = (boot: Boot) =>
      harness.clock.run(createGeneration(harness.process(undefined, {}, boot), harness.caller, 'k', harness.body()));
    expect(await codeOf(again({ id: 'second', isExclusive: false })), 'where others may be at work').to.equal(
      'IDEMPOTENCY_IN_PROGRESS',
    );
    expect(await codeOf(again(FIRST)), 'in the same life').to.equal('IDEMPOTENCY_IN_PROGRESS');
    const { generation, replayed } = await again(SECOND);
    expect(replayed).to.equal(false);
    expect((await harness.account()).holds.size).to.equal(1);
    expect((await harness.generations()).map(({ generationId }) => generationId)).to.deep.equal([
      generation.generationId,
    ]);
  });
});

describe('a start on stores that are shared', () => {
  it('leaves what another boot has leased until its lease has lapsed', async () => {
    const { harness, ids } = await killed(3, { boot: { id: 'first', isExclusive: false } });
    await startWorker(harness, { id: 'second', isExclusive: false });
    await harness.clock.advance(harness.settings.leaseMs - 2_000);
    for (const id of ids) expect((await harness.generation(id)).lease).to.include({ worker: 'first', fence: 1 });
    await harness.clock.advance(20_000);
    for (const id of ids) expect((await harness.generation(id)).lease).to.include({ worker: 'second', fence: 2 });
  });
});
