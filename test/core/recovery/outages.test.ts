// Goal: items that an outage keeps from being removed delay nothing else, and a process that is asked to stop does not
// finish a long list first.
// Method: the object store fails every removal, or the pass is stopped at one of its calls; the calls made are counted.
import { expect } from 'chai';
import { Worker } from '../../../apps/worker/worker.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { prepareUpload } from '../../../core/uploads/prepare-upload.js';
import type { Upload } from '../../../core/uploads/upload.js';
import { Gate, type Interceptor } from '../../fixtures/intercepted.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../harness/core-worker.js';
import { prepareBody } from '../uploads/upload-steps.js';

/** Counts calls by name; those that `fails` selects find their store unavailable. */
function counting(calls: Map<string, number>, fails: (name: string) => boolean = () => false): Interceptor {
  return (call) => {
    calls.set(call.name, (calls.get(call.name) ?? 0) + 1);
    return fails(call.name) ? Promise.reject(new StoreUnavailable('The line broke.')) : call.proceed();
  };
}

async function withEnded(harness: CoreHarness, count: number): Promise<string[]> {
  const worker = await CoreWorker.start(harness);
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) ids.push((await harness.create()).generationId);
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
    for (let made = 0; made < 5; made += 1) await harness.create();
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
      { workerId: 'worker', recoveryIntervalMs: 1_000, stopGraceMs: 5_000 },
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
      { workerId: 'worker', recoveryIntervalMs: 1_000, stopGraceMs: 5_000 },
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
