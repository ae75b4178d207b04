// Goal: recovery undoes what was cut and removes what is past its time, neither earlier nor later.
// Method: the clock is moved to just before and just after each limit, with a pass of recovery at each.
import { expect } from 'chai';
import { StoreUnavailable } from '../../../core/errors.js';
import { cancelGeneration } from '../../../core/generation/cancel-generation.js';
import { getGeneration } from '../../../core/generation/get-generation.js';
import { recoverHolds } from '../../../core/recovery/recover-holds.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { CoreWorker, untilEnded, untilSettled } from '../../fixtures/core-worker.js';
import { CoreWorld } from '../../fixtures/core-world.js';
import type { Interceptor } from '../../fixtures/intercepted.js';
import { expectAtRest } from '../../fixtures/recovery-passes.js';
import { ATTRIBUTION } from '../../fixtures/stored-records.js';

async function passes(world: CoreWorld, count = 3, interceptor?: Interceptor): Promise<void> {
  const recovery = new Recovery(world.process(interceptor));
  for (let pass = 0; pass < count; pass += 1) await world.clock.run(recovery.pass());
}

function lookup(world: CoreWorld, generationId: string): Promise<string> {
  return getGeneration(world.context, world.caller, generationId).then(() => 'OK', (error: { code?: string }) => String(error.code));
}

describe('retention', () => {
  it('keeps outputs and tasks for as long as was promised, then answers as it must', async () => {
    const world = await CoreWorld.open();
    await CoreWorker.start(world);
    const { generationId } = await world.create();
    const g = await untilSettled(world, generationId);
    const key = g.outputs[0]?.objectKey ?? '';
    const at = (afterEndMs: number) => world.clock.jump((g.completedAt ?? 0) + afterEndMs - world.clock.now());

    at(world.settings.outputRetentionMs - 1);
    await passes(world);
    expect(await world.ports.objects.stat(key)).not.to.equal(null);
    at(world.settings.outputRetentionMs);
    await passes(world);
    expect(await world.ports.objects.stat(key)).to.equal(null);
    at(world.settings.taskRetentionMs - 1);
    await passes(world);
    expect(await lookup(world, generationId)).to.equal('OK');
    at(world.settings.taskRetentionMs);
    await passes(world);
    expect(await lookup(world, generationId)).to.equal('GENERATION_JOB_NOT_FOUND');
    expect((await cancelGeneration(world.context, world.caller, generationId).catch((error: unknown) => error))).to.have.property('code', 'TASK_NOT_FOUND');
    at(world.settings.taskRetentionMs + world.settings.tombstoneRetentionMs + 1_000);
    await passes(world);
    expect(await lookup(world, generationId)).to.equal('TASK_NOT_FOUND');
  });

  it('keeps outputs although recovery was unsure whether it had settled their generation', async () => {
    const world = await CoreWorld.open();
    await CoreWorker.start(world, 'worker', async (call) => {
      if (call.name === 'accounts.apply') throw new StoreUnavailable('The line broke.');
      return call.proceed();
    });
    const { generationId } = await world.create();
    const { outputs: [output] } = await untilEnded(world, generationId);
    await world.clock.advance(5_000);
    let isLost = false;
    await passes(world, 1, async (call) => {
      const answer = await call.proceed();
      const settles = call.name === 'generations.replace' && (call.args[0] as { settledAt?: number }).settledAt !== undefined;
      if (!settles || isLost) return answer;
      isLost = true;
      throw new StoreUnavailable('The answer was lost.');
    });
    expect(isLost).to.equal(true);
    for (let minute = 0; minute < 5; minute += 1) {
      await world.clock.advance(60_000);
      await passes(world, 1);
    }
    expect(await world.ports.objects.stat(output?.objectKey ?? ''), 'the outputs are still there').not.to.equal(null);
    expect((await world.generation(generationId)).outputsRemovedAt).to.equal(undefined);
    await expectAtRest(world, 1);
  });

  it('releases a hold without a generation once no request can be that slow, and not before', async () => {
    const world = await CoreWorld.open();
    await world.clock.run(world.context.accountWriter.execute(world.caller.accountId, { kind: 'hold', generationId: world.ports.ids.uuid(), credits: 7, maxOpenHolds: 10, attribution: ATTRIBUTION }));
    world.clock.jump(world.settings.claimLeaseMs + world.settings.recoveryGraceMs);
    await passes(world);
    expect((await world.account()).reserved).to.equal(7);
    world.clock.jump(1);
    await passes(world);
    expect(await world.account()).to.include({ reserved: 0, available: 1_000 });
  });

  it('looks at all old holds, a page at a time, though those of live generations stay', async () => {
    const world = await CoreWorld.open({ settings: { recoveryBatch: 2 } });
    for (let made = 0; made < 3; made += 1) await world.create();
    for (let made = 0; made < 4; made += 1) {
      await world.clock.run(world.context.accountWriter.execute(world.caller.accountId, { kind: 'hold', generationId: world.ports.ids.uuid(), credits: 1, maxOpenHolds: 100, attribution: ATTRIBUTION }));
    }
    world.clock.jump(100_000);
    let cursor: string | undefined;
    let released = 0;
    for (let page = 0; page < 10; page += 1) {
      const done = await world.clock.run(recoverHolds(world.context, cursor, () => true));
      released += done.released;
      expect(done.failed).to.equal(0);
      cursor = done.nextCursor;
      if (cursor === undefined) break;
    }
    expect([released, cursor, (await world.account()).holds.size]).to.deep.equal([4, undefined, 3]);
  });

  it('goes on with the others when one generation cannot be recovered', async () => {
    const world = await CoreWorld.open();
    const ids = [await world.create(), await world.create(), await world.create()].map(({ generationId }) => generationId);
    world.clock.jump(700_000);
    await passes(world, 1, async (call) => {
      if (call.name === 'generations.replace' && (call.args[0] as { generationId: string }).generationId === ids[1]) throw new StoreUnavailable('The line broke.');
      return call.proceed();
    });
    expect((await Promise.all(ids.map((id) => world.generation(id)))).map(({ status }) => status)).to.deep.equal(['failed', 'queued', 'failed']);
    await world.clock.advance(31_000);
    await passes(world, 1);
    await expectAtRest(world, 3);
    expect((await world.account()).holds.size).to.equal(0);
  });
});
