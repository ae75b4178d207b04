// Goal: recovery undoes interrupted work and removes data past its retention, neither earlier nor later.
// Method: the clock is moved to just before and just after each limit, with a pass of recovery at each.
import { expect } from 'chai';
import { StoreUnavailable } from '../../../core/errors.js';
import { getGeneration } from '../../../core/generation/read-generations.js';
import { recoverHolds, Recovery } from '../../../core/recovery/recover.js';
import type { Interceptor } from '../../fixtures/intercepted.js';
import { expectAtRest } from '../../fixtures/recovery-passes.js';
import { ATTRIBUTION } from '../../fixtures/stored-records.js';
import { CoreHarness, CoreWorker, untilEnded, untilSettled } from '../../harness/core-harness.js';

async function passes(harness: CoreHarness, count = 3, interceptor?: Interceptor): Promise<void> {
  const recovery = new Recovery(harness.process(interceptor));
  for (let pass = 0; pass < count; pass += 1) await harness.clock.run(recovery.pass());
}

function lookup(harness: CoreHarness, generationId: string): Promise<string> {
  return getGeneration(harness.context, harness.caller, generationId).then(
    () => 'OK',
    (error: { code?: string }) => String(error.code),
  );
}

describe('retention', () => {
  it('keeps outputs and tasks for the promised time, then answers with the right codes', async () => {
    const harness = await CoreHarness.open();
    await CoreWorker.start(harness);
    const { generationId } = await harness.create();
    const g = await untilSettled(harness, generationId);
    const key = g.outputs[0]?.objectKey ?? '';
    const at = (afterEndMs: number) => harness.clock.jump((g.completedAt ?? 0) + afterEndMs - harness.clock.now());

    at(harness.settings.outputRetentionMs - 1);
    await passes(harness);
    expect(await harness.ports.objects.stat(key)).not.to.equal(null);
    at(harness.settings.outputRetentionMs);
    await passes(harness);
    expect(await harness.ports.objects.stat(key)).to.equal(null);
    at(harness.settings.taskRetentionMs - 1);
    await passes(harness);
    expect(await lookup(harness, generationId)).to.equal('OK');
    at(harness.settings.taskRetentionMs);
    await passes(harness);
    expect(await lookup(harness, generationId)).to.equal('GENERATION_JOB_NOT_FOUND');
    expect(await harness.cancel(generationId).catch((error: unknown) => error)).to.have.property(
      'code',
      'TASK_NOT_FOUND',
    );
    at(harness.settings.taskRetentionMs + harness.settings.tombstoneRetentionMs + 1_000);
    await passes(harness);
    expect(await lookup(harness, generationId)).to.equal('TASK_NOT_FOUND');
  });

  it('keeps outputs although recovery was unsure whether it had settled their generation', async () => {
    const harness = await CoreHarness.open();
    await CoreWorker.start(harness, 'worker', async (call) => {
      if (call.name === 'accounts.apply') throw new StoreUnavailable('The line broke.');
      return call.proceed();
    });
    const { generationId } = await harness.create();
    const {
      outputs: [output],
    } = await untilEnded(harness, generationId);
    await harness.clock.advance(5_000);
    let isLost = false;
    await passes(harness, 1, async (call) => {
      const answer = await call.proceed();
      const settles =
        call.name === 'generations.replace' && (call.args[0] as { settledAt?: number }).settledAt !== undefined;
      if (!settles || isLost) return answer;
      isLost = true;
      throw new StoreUnavailable('The answer was lost.');
    });
    expect(isLost).to.equal(true);
    for (let minute = 0; minute < 5; minute += 1) {
      await harness.clock.advance(60_000);
      await passes(harness, 1);
    }
    expect(await harness.ports.objects.stat(output?.objectKey ?? ''), 'the outputs are still there').not.to.equal(null);
    expect((await harness.generation(generationId)).outputsRemovedAt).to.equal(undefined);
    await expectAtRest(harness, 1);
  });

  it('releases a hold without a generation once no request can still be running, and not before', async () => {
    const harness = await CoreHarness.open();
    await harness.clock.run(
      harness.context.accountWriter.execute(harness.caller.accountId, {
        kind: 'hold',
        generationId: harness.ports.ids.uuid(),
        credits: 7,
        maxOpenHolds: 10,
        attribution: ATTRIBUTION,
      }),
    );
    harness.clock.jump(harness.settings.claimLeaseMs + harness.settings.recoveryGraceMs);
    await passes(harness);
    expect((await harness.account()).reserved).to.equal(7);
    harness.clock.jump(1);
    await passes(harness);
    expect(await harness.account()).to.include({ reserved: 0, available: 1_000 });
  });

  it('examines all old holds, a page at a time, though those of live generations stay', async () => {
    const harness = await CoreHarness.open({ settings: { recoveryBatch: 2 } });
    for (let made = 0; made < 3; made += 1) await harness.create();
    for (let made = 0; made < 4; made += 1) {
      await harness.clock.run(
        harness.context.accountWriter.execute(harness.caller.accountId, {
          kind: 'hold',
          generationId: harness.ports.ids.uuid(),
          credits: 1,
          maxOpenHolds: 100,
          attribution: ATTRIBUTION,
        }),
      );
    }
    harness.clock.jump(100_000);
    let cursor: string | undefined;
    let released = 0;
    for (let page = 0; page < 10; page += 1) {
      const done = await harness.clock.run(recoverHolds(harness.context, cursor, () => true));
      released += done.released;
      expect(done.failed).to.equal(0);
      cursor = done.nextCursor;
      if (cursor === undefined) break;
    }
    expect([released, cursor, (await harness.account()).holds.size]).to.deep.equal([4, undefined, 3]);
  });

  it('continues with the others when one generation cannot be recovered', async () => {
    const harness = await CoreHarness.open();
    const ids = [await harness.create(), await harness.create(), await harness.create()].map(
      ({ generationId }) => generationId,
    );
    harness.clock.jump(700_000);
    await passes(harness, 1, async (call) => {
      if (call.name === 'generations.replace' && (call.args[0] as { generationId: string }).generationId === ids[1])
        throw new StoreUnavailable('The line broke.');
      return call.proceed();
    });
    expect((await Promise.all(ids.map((id) => harness.generation(id)))).map(({ status }) => status)).to.deep.equal([
      'failed',
      'queued',
      'failed',
    ]);
    await harness.clock.advance(31_000);
    await passes(harness, 1);
    await expectAtRest(harness, 3);
    expect((await harness.account()).holds.size).to.equal(0);
  });
});
