// Goal: processes that recover at the same time share the work instead of repeating it, and no part of a pass prevents
// the others.
// Method: several processes read the same list of due records and are interleaved by a seed, with every call counted;
// then each list of a pass is made unreadable in turn.
import { expect } from 'chai';
import fc from 'fast-check';
import { StoreUnavailable } from '../../../core/errors.js';
import type { WakeUpSubject } from '../../../core/ports/wake-ups.js';
import { mayBeMore, recoverGenerations, Recovery } from '../../../core/recovery/recover.js';
import { prepareUpload } from '../../../core/uploads/prepare-upload.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { ATTRIBUTION } from '../../fixtures/stored-records.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { CoreWorker } from '../../harness/core-worker.js';
import { prepareBody } from '../uploads/upload-steps.js';

/** How many writes in a row a process loses before it leaves the list to another one. */
const OVERTAKEN = 10;
const always = (): boolean => true;

async function queued(harness: CoreHarness, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) ids.push((await harness.create()).generationId);
  harness.clock.jump(harness.settings.recoveryGraceMs + 1);
  return ids;
}

describe('recovery in several processes at once', () => {
  it('wakes each queued generation once between them, whichever is first', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.integer({ min: 2, max: 4 }), async (scheduler, processes) => {
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
      }),
      { numRuns: 60 },
    );
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
  const parts = ['generations.due', 'accounts.holdsBefore', 'uploads.due', 'claims.removeExpired'] as const;
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
    artefactsRemoved: 0,
  };

  it('is, if one of its parts reached its limit, for any outcome', () => {
    for (const outcome of Object.keys(nothing.generations)) {
      const found = (count: number) => ({ ...nothing, generations: { ...nothing.generations, [outcome]: count } });
      expect([mayBeMore(found(4), 5), mayBeMore(found(5), 5)], outcome).to.deep.equal([false, true]);
    }
    expect(mayBeMore({ ...nothing, uploads: { swept: 0, removed: 5, failed: 0 } }, 5)).to.equal(true);
    expect(mayBeMore({ ...nothing, deliveries: { woken: 3, removed: 2, failed: 0 } }, 5)).to.equal(true);
    expect(mayBeMore({ ...nothing, claimsRemoved: 5 }, 5)).to.equal(true);
    expect(mayBeMore({ ...nothing, artefactsRemoved: 5 }, 5)).to.equal(true);
  });

  it('is not, if all holds have their generations, however many pages of them there are', () => {
    expect(mayBeMore({ ...nothing, holds: { ...nothing.holds, nextCursor: 'next' } }, 5)).to.equal(false);
    expect(mayBeMore({ ...nothing, holds: { ...nothing.holds, released: 1, nextCursor: 'next' } }, 5)).to.equal(true);
    expect(mayBeMore({ ...nothing, holds: { ...nothing.holds, released: 1 } }, 5)).to.equal(false);
  });
});
