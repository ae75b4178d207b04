import { expect } from 'chai';
import fc from 'fast-check';
import { Worker } from '../../../apps/worker/worker.js';
import type { Boot } from '../../../core/boot.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { WakeUpSubject } from '../../../core/ports/wake-ups.js';
import { mayBeMore, recoverGenerations, Recovery } from '../../../core/recovery/recover.js';
import { prepareUpload } from '../../../core/uploads/prepare-upload.js';
import type { Upload } from '../../../core/uploads/upload.js';
import { pause } from '../../../core/waiting.js';
import { Gate, type Interceptor } from '../../fixtures/intercepted.js';
import { imageModel } from '../../fixtures/models.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { expectAtRest } from '../../fixtures/recovery-passes.js';
import { imagesOf } from '../../fixtures/scripted-provider.js';
import { ATTRIBUTION } from '../../fixtures/stored-records.js';
import {
  CoreHarness,
  CoreWorker,
  type Cut,
  cutting,
  Life,
  untilSettled,
  expectCode,
} from '../../harness/core-harness.js';
import { prepareBody } from '../uploads/upload-steps.js';
import { forAll } from '../../harness/for-all.js';

// Goal: at its start, a process with exclusive stores continues what the previous process was running, without waiting
// for a lease, page by page, and nothing else; over shared stores it waits.
// Method: a worker dies in the middle of its runs, and the worker of another boot starts at the same moment.

const FIRST: Boot = { id: 'first', isExclusive: true };
const SECOND: Boot = { id: 'second', isExclusive: true };
/** The longest recovery grace that the configuration takes. */
const MAX_GRACE_MS = 3_600_000;

async function created(harness: CoreHarness, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) ids.push((await harness.create()).generationId);
  return ids;
}

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
  const ids = await created(harness, running);
  await harness.clock.advance(1_000);
  await first.context.wakeUps.stop();
  life.isDead = true;
  return { harness, ids };
}

function newWorker(harness: CoreHarness, boot: Boot, interceptor?: Interceptor): Worker {
  const context = harness.process(interceptor, {}, boot);
  return new Worker(context, { workerId: 'second', recoveryIntervalMs: 15_000, stopGraceMs: 1_000 });
}

async function startWorker(...of: Parameters<typeof newWorker>): Promise<Worker> {
  const [harness] = of;
  const worker = newWorker(...of);
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

  it('reads what is open in pages, once, and takes over first what was leased, then what was queued', async () => {
    const { harness, ids } = await killed(7, { settings: { recoveryBatch: 3 } });
    const queuedIds = await created(harness, 9);
    const pages: number[] = [];
    const taken: string[] = [];
    const context = harness.process(
      async (call) => {
        const answer = await call.proceed();
        if (call.name === 'accounts.holdsBefore') pages.push((answer as { items: readonly unknown[] }).items.length);
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
    expect(taken.slice(ids.length)).to.have.ordered.members(queuedIds);
    expect(pages).to.deep.equal([3, 3, 3, 3, 3, 1]);
  });

  it('starts what was queued at once, whenever recovery would examine it and however the clock was set', async () => {
    const harness = await CoreHarness.open({
      models: [imageModel({ concurrency: 2, concurrencyPerAccount: 2 })],
      credits: 10_000,
      settings: { recoveryGraceMs: MAX_GRACE_MS },
    });
    const ids = await created(harness, 6);
    harness.clock.jump(-MAX_GRACE_MS);
    const wakeUps = {
      schedule: () => Promise.resolve(),
      start: () => Promise.resolve(),
      stop: () => Promise.resolve(),
    };
    const worker = new Worker(harness.process(undefined, { wakeUps }, SECOND), {
      workerId: 'second',
      recoveryIntervalMs: MAX_GRACE_MS,
      stopGraceMs: 1_000,
    });
    await harness.clock.run(worker.start());
    for (const id of ids)
      expect(await untilSettled(harness, id), id).to.include({ status: 'succeeded', attemptsMade: 1 });
    expect(harness.provider.submissions).to.have.length(ids.length);
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
    const ids = await created(harness, 2);
    await harness.clock.advance(1_000);
    await first.context.wakeUps.stop();
    life.isDead = true;
    const cut = new Set(ids);
    ids.push(...(await created(harness, 20)));
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
      if (isAway && call.name === 'accounts.holdsBefore') throw new Error('The store is away.');
      return call.proceed();
    });
    for (const id of ids) expect((await harness.generation(id)).fence).to.equal(1);
    isAway = false;
    await harness.clock.advance(15_010);
    for (const id of ids) expect((await harness.generation(id)).fence).to.equal(2);
  });

  it('takes nothing when it is stopped before it has started', async () => {
    const { harness, ids } = await killed(2);
    const gate = new Gate();
    const worker = newWorker(harness, SECOND, async (call) => {
      if (call.name === 'accounts.holdsBefore') await gate.wait();
      return call.proceed();
    });
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
    void harness.post('k', harness.body(), { context: dying }).catch(() => undefined);
    await harness.clock.advance(10);
    const again = (boot: Boot) =>
      harness.clock.run(harness.post('k', harness.body(), { context: harness.process(undefined, {}, boot) }));
    await expectCode(
      'IDEMPOTENCY_IN_PROGRESS',
      again({ id: 'second', isExclusive: false }),
      'where others may be at work',
    );
    await expectCode('IDEMPOTENCY_IN_PROGRESS', again(FIRST), 'in the same life');
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

// Goal: wherever a worker is interrupted, recovery and the next worker bring the generation to a single end, charged
// once and settled.
// Method: every store call of a run fails, before and after its effect, with the process dying or continuing; then
// recovery passes and a second worker run until the generation is settled, and everything is counted.

async function runCut(index: number, cut: Cut, dies: boolean): Promise<string[]> {
  const harness = await CoreHarness.open();
  const names: string[] = [];
  const { generationId } = await harness.create({ count: 2 });
  const first = CoreWorker.idle(harness, 'first', cutting(index, cut, { dies, names }));
  await first.dispatcher.deliver(generationId).catch(() => undefined);
  await harness.clock.advance(5_000);
  const second = await CoreWorker.start(harness, 'second');
  const recovery = new Recovery(second.context);
  for (let pass = 0; pass < 8; pass += 1) {
    await harness.clock.run(recovery.pass());
    await harness.clock.advance(20_000);
  }
  const g = await harness.generation(generationId);
  expect(
    [g.status, g.chargedCredits, g.settledAt === undefined],
    `${cut} call ${index}, ${names[index]}`,
  ).to.deep.equal(['succeeded', 20, false]);
  expect(harness.provider.tasks.size).to.be.at.most(g.attemptsMade);
  for (const output of g.outputs)
    expect(await harness.ports.objects.stat(output.objectKey), 'its outputs are there').not.to.equal(null);
  expect(await harness.account()).to.include({ spent: 20, available: 980, reserved: 0 });
  await expectAtRest(harness, 1);
  return names;
}

describe('a run, interrupted at any store call', () => {
  for (const cut of ['before', 'after'] as const) {
    for (const dies of [true, false]) {
      it(`${cut} the call, the process ${dies ? 'dying' : 'surviving'}: ends with one success, charged once`, async () => {
        const names = await runCut(Infinity, cut, dies);
        expect(names).to.include.members([
          'generations.read',
          'generations.replace',
          'objects.write',
          'objects.read',
          'accounts.apply',
        ]);
        for (let index = 0; index < names.length; index += 1) await runCut(index, cut, dies);
      });
    }
  }
});

// Goal: items that an outage keeps from being removed delay nothing else, and a process that is stopping does not
// finish a long list first.
// Method: the object store fails every removal, or the pass is stopped at one of its calls; the calls made are counted.

/** Counts calls by name; those that `fails` selects find their store unavailable. */
function counting(calls: Map<string, number>, fails: (name: string) => boolean = () => false): Interceptor {
  return (call) => {
    calls.set(call.name, (calls.get(call.name) ?? 0) + 1);
    return fails(call.name) ? Promise.reject(new StoreUnavailable('The line broke.')) : call.proceed();
  };
}

async function withEnded(harness: CoreHarness, count: number): Promise<string[]> {
  const worker = await CoreWorker.start(harness);
  const ids = await created(harness, count);
  for (const id of ids) await untilSettled(harness, id);
  await worker.dispatcher.stop(0);
  return ids;
}

describe('recovery while the object store is unavailable', () => {
  it('tries one retirement a pass, postpones the others, and still ends overdue generations', async () => {
    const harness = await CoreHarness.open({ credits: 10_000 });
    const ended = await withEnded(harness, 6);
    harness.clock.jump(harness.settings.outputRetentionMs);
    const late = await harness.create();
    harness.clock.jump(700_000);
    const calls = new Map<string, number>();
    const away = new Recovery(harness.process(counting(calls, (name) => name === 'objects.remove')));
    const { generations } = await harness.clock.run(away.pass());
    expect([calls.get('objects.remove'), generations.failed]).to.deep.equal([1, ended.length]);
    expect((await harness.generation(late.generationId)).status).to.equal('failed');
    for (const id of ended)
      expect((await harness.generation(id)).dueAt, 'not in the way of others').to.be.greaterThan(harness.clock.now());
    await harness.clock.advance(31_000);
    const back = await harness.clock.run(new Recovery(harness.context).pass());
    expect([back.generations.retired, back.generations.failed]).to.deep.equal([ended.length, 0]);
  });

  it('ends its uploads at the first one it cannot remove, and removes all of them later', async () => {
    const harness = await CoreHarness.open();
    for (const key of ['a', 'b', 'c'])
      await prepareUpload(harness.context, harness.caller, key, prepareBody(plainImage()));
    harness.clock.jump(harness.settings.uploadRetentionMs + harness.settings.claimRetentionMs);
    const calls = new Map<string, number>();
    const away = new Recovery(harness.process(counting(calls, (name) => name === 'objects.remove')));
    expect((await harness.clock.run(away.pass())).uploads).to.deep.equal({ swept: 0, removed: 0, failed: 1 });
    expect(calls.get('objects.remove')).to.equal(1);
    harness.clock.jump(600_000);
    expect((await harness.clock.run(new Recovery(harness.context).pass())).uploads).to.deep.equal({
      swept: 0,
      removed: 3,
      failed: 0,
    });
  });

  it('removes all other uploads when the bytes of one can never be removed, and reports that one each time', async () => {
    const harness = await CoreHarness.open();
    const [first = '', ...others] = await Promise.all(
      ['a', 'b', 'c'].map(
        async (key) =>
          (await prepareUpload(harness.context, harness.caller, key, prepareBody(plainImage()))).upload.uploadId,
      ),
    );
    const recovery = new Recovery(
      harness.process((call) => {
        if (call.name === 'objects.remove' && String(call.args[0]).includes(first))
          throw new StoreUnavailable('The store does not allow it.');
        return call.proceed();
      }),
    );
    harness.clock.jump(
      harness.settings.uploadTargetMs + harness.settings.claimLeaseMs + harness.settings.recoveryGraceMs,
    );
    const swept = async () =>
      Promise.all(
        others.map(async (id) => ((await harness.ports.uploads.read(id)) as Upload).stagingRemovedAt !== undefined),
      );
    const { uploads } = await harness.clock.run(recovery.pass());
    expect(uploads.failed).to.equal(1);
    expect((await harness.clock.run(recovery.pass())).uploads).to.deep.equal({ swept: 2, removed: 0, failed: 0 });
    expect(await swept()).to.deep.equal([true, true]);
    harness.clock.jump(300_000);
    expect((await harness.clock.run(recovery.pass())).uploads.failed).to.equal(1);
  });
});

describe('recovery in a process that stops', () => {
  it('completes its current item, examines nothing more, and does nothing afterwards', async () => {
    const harness = await CoreHarness.open({ credits: 10_000 });
    await created(harness, 5);
    harness.clock.jump(700_000);
    const names: string[] = [];
    const recovery = new Recovery(
      harness.process((call) => {
        names.push(call.name);
        if (call.name === 'generations.replace') recovery.stop();
        return call.proceed();
      }),
    );
    expect((await harness.clock.run(recovery.pass())).generations).to.deep.include({ ended: 1, failed: 0 });
    expect(names).to.include('generations.due').and.not.include.members(['accounts.holdsBefore']);
    expect(names.includes('uploads.due') || names.includes('claims.removeExpired')).to.equal(false);
    names.length = 0;
    await harness.clock.run(recovery.pass());
    expect(names).to.deep.equal([]);
  });
});

const SLOW_STOP = { workerId: 'worker', recoveryIntervalMs: 1_000, stopGraceMs: 5_000 };

describe('a worker whose recovery hangs', () => {
  it('starts all the same, runs one pass at a time, and stops within its grace', async () => {
    const harness = await CoreHarness.open();
    const gate = new Gate();
    let looks = 0;
    const worker = new Worker(
      harness.process(async (call) => {
        if (call.name === 'generations.due') {
          looks += 1;
          await gate.wait();
        }
        return call.proceed();
      }),
      SLOW_STOP,
    );
    await worker.start();
    await harness.clock.advance(10_000);
    expect(looks).to.equal(1);
    let hasStopped = false;
    const stopped = worker.stop().then(() => {
      hasStopped = true;
    });
    await harness.clock.advance(4_999);
    expect(hasStopped).to.equal(false);
    await harness.clock.advance(1);
    await stopped;
    gate.open();
  });

  it('waits for the current item of recovery, if that takes less than the grace', async () => {
    const harness = await CoreHarness.open();
    const gate = new Gate();
    const names: string[] = [];
    const worker = new Worker(
      harness.process(async (call) => {
        names.push(call.name);
        if (call.name === 'generations.due') await gate.wait();
        return call.proceed();
      }),
      SLOW_STOP,
    );
    await worker.start();
    let hasStopped = false;
    const stopped = worker.stop().then(() => {
      hasStopped = true;
    });
    await harness.clock.advance(1_000);
    expect(hasStopped).to.equal(false);
    gate.open();
    await harness.clock.run(stopped);
    expect(names).to.include('generations.due').and.not.include('accounts.holdsBefore');
  });
});

// Goal: processes that recover at the same time share the work instead of repeating it, and no part of a pass prevents
// the others.
// Method: several processes read the same list of due records and are interleaved by a seed, with every call counted;
// then each list of a pass is made unreadable in turn.

/** How many writes in a row a process loses before it leaves the list to another one. */
const OVERTAKEN = 10;
const always = (): boolean => true;

async function queued(harness: CoreHarness, count: number): Promise<string[]> {
  const ids = await created(harness, count);
  harness.clock.jump(harness.settings.recoveryGraceMs + 1);
  return ids;
}

describe('recovery in several processes at once', () => {
  it('wakes each queued generation once between them, whichever is first', async () => {
    await forAll(60, [fc.scheduler(), fc.integer({ min: 2, max: 4 })], async (scheduler, processes) => {
      const harness = await CoreHarness.open({ credits: 10_000 });
      const ids = await queued(harness, 12);
      const woken: string[] = [];
      const passes = Array.from({ length: processes }, (_, index) =>
        recoverGenerations(
          harness.process(async (call) => {
            await scheduler.schedule(Promise.resolve(), `${index} ${call.name}`);
            if (call.name === 'wakeUps.schedule') woken.push((call.args[0] as WakeUpSubject).id);
            return call.proceed();
          }),
          harness.clock.now(),
          always,
        ),
      );
      await scheduler.waitFor(Promise.all(passes));
      await scheduler.waitIdle();
      const done = await Promise.all(passes);
      expect(woken.toSorted()).to.deep.equal(ids.toSorted());
      expect(done.reduce((sum, { woken: count }) => sum + count, 0)).to.equal(ids.length);
      expect(done.every(({ failed }) => failed === 0)).to.equal(true);
    });
  });

  it('leaves a list that another process is going through to that one', async () => {
    const harness = await CoreHarness.open({ credits: 10_000 });
    await queued(harness, 100);
    let replaced = 0;
    let reads = 0;
    const late = harness.process(async (call) => {
      const answer = await call.proceed();
      if (call.name === 'generations.due') await recoverGenerations(harness.context, harness.clock.now(), always);
      if (call.name === 'generations.replace') replaced += 1;
      if (call.name === 'generations.read') reads += 1;
      return answer;
    });
    expect(await recoverGenerations(late, harness.clock.now(), always)).to.deep.include({
      woken: 0,
      overtaken: OVERTAKEN,
      failed: 0,
    });
    expect([replaced, reads]).to.deep.equal([OVERTAKEN, 0]);
  });

  it('neither wakes nor postpones what a worker has leased since the list was read', async () => {
    const harness = await CoreHarness.open();
    const [generationId = ''] = await queued(harness, 1);
    const worker = CoreWorker.idle(harness, 'worker');
    const woken: unknown[] = [];
    const late = harness.process(async (call) => {
      const answer = await call.proceed();
      if (call.name === 'generations.due') await worker.dispatcher.deliver(generationId);
      if (call.name === 'wakeUps.schedule') woken.push((call.args[0] as WakeUpSubject).id);
      return answer;
    });
    expect(await recoverGenerations(late, harness.clock.now(), always)).to.deep.include({ woken: 0, overtaken: 1 });
    const leased = await harness.generation(generationId);
    expect([woken.length, leased.status]).to.deep.equal([0, 'running']);
    expect(leased.dueAt).to.be.at.least(leased.lease?.expiresAt ?? Infinity);
  });
});

describe('a recovery pass that cannot read one of its lists', () => {
  const parts = [
    'generations.due',
    'accounts.holdsBefore',
    'uploads.due',
    'claims.removeExpired',
    'fingerprints.removeExpired',
  ] as const;
  for (const unreadable of parts) {
    it(`does everything else when ${unreadable} fails, and then says so`, async () => {
      const harness = await CoreHarness.open();
      await prepareUpload(harness.context, harness.caller, 'once', prepareBody(plainImage()));
      const lost = harness.ports.ids.uuid();
      await harness.clock.run(
        harness.context.accountWriter.execute(harness.caller.accountId, {
          kind: 'hold',
          generationId: lost,
          credits: 7,
          maxOpenHolds: 10,
          attribution: ATTRIBUTION,
        }),
      );
      const { generationId } = await harness.create();
      harness.clock.jump(harness.settings.claimRetentionMs + harness.settings.uploadRetentionMs);
      const asked: string[] = [];
      const down = new StoreUnavailable('The line broke.');
      const recovery = new Recovery(
        harness.process(async (call) => {
          asked.push(call.name);
          if (call.name === unreadable) throw down;
          return call.proceed();
        }),
      );
      expect(await recovery.pass().catch((error: unknown) => error)).to.equal(down);
      expect((await harness.generation(generationId)).status).to.equal(
        unreadable === 'generations.due' ? 'queued' : 'failed',
      );
      expect((await harness.account()).holds.has(lost)).to.equal(unreadable === 'accounts.holdsBefore');
      expect(asked.includes('uploads.replace')).to.equal(unreadable !== 'uploads.due');
      expect(asked).to.include.members([...parts]);
    });
  }
});

describe('whether a pass is followed by another at once', () => {
  const nothing = {
    generations: { woken: 0, ended: 0, settled: 0, retired: 0, failed: 0, overtaken: 0 },
    holds: { released: 0, settled: 0, failed: 0 },
    uploads: { swept: 0, removed: 0, failed: 0 },
    deliveries: { woken: 0, removed: 0, failed: 0 },
    claimsRemoved: 0,
    fingerprintsRemoved: 0,
    artefactsRemoved: 0,
    erasures: { advanced: 0, waiting: 0, completed: 0, failed: 0 },
  };

  it('is, if one of its parts reached its limit, for any outcome', () => {
    for (const outcome of Object.keys(nothing.generations)) {
      const found = (count: number) => ({ ...nothing, generations: { ...nothing.generations, [outcome]: count } });
      expect([mayBeMore(found(4), 5), mayBeMore(found(5), 5)], outcome).to.deep.equal([false, true]);
    }
    expect(mayBeMore({ ...nothing, uploads: { swept: 0, removed: 5, failed: 0 } }, 5)).to.equal(true);
    expect(mayBeMore({ ...nothing, deliveries: { woken: 3, removed: 2, failed: 0 } }, 5)).to.equal(true);
    expect(mayBeMore({ ...nothing, claimsRemoved: 5 }, 5)).to.equal(true);
    expect(mayBeMore({ ...nothing, fingerprintsRemoved: 5 }, 5)).to.equal(true);
    expect(mayBeMore({ ...nothing, artefactsRemoved: 5 }, 5)).to.equal(true);
    expect(mayBeMore({ ...nothing, erasures: { ...nothing.erasures, advanced: 1 } }, 5)).to.equal(true);
    expect(mayBeMore({ ...nothing, erasures: { ...nothing.erasures, waiting: 9 } }, 5)).to.equal(false);
  });

  it('is not, if all holds have their generations, however many pages of them there are', () => {
    expect(mayBeMore({ ...nothing, holds: { ...nothing.holds, nextCursor: 'next' } }, 5)).to.equal(false);
    expect(mayBeMore({ ...nothing, holds: { ...nothing.holds, released: 1, nextCursor: 'next' } }, 5)).to.equal(true);
    expect(mayBeMore({ ...nothing, holds: { ...nothing.holds, released: 1 } }, 5)).to.equal(false);
  });
});
