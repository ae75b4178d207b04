// Goal: a call that waits for a generation learns of its end, never longer than it asked for, and costs one read for
// all that wait for the same one.
// Method: core on memory adapters with a clock that the test moves; reads counted on their way to the store.
import { expect } from 'chai';
import { CallOver } from '../../../core/cancellation.js';
import type { Context } from '../../../core/context.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import { waitForEnd, waitForGeneration, type Waiting } from '../../../core/generation/wait-for-generation.js';
import { LOOK_EVERY_MS, LOOK_SELDOM_MS } from '../../../core/generation/watch.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { codeOf } from '../../fixtures/refusals.js';
import { CoreHarness } from '../../harness/core-harness.js';

describe('waiting for a generation', () => {
  let harness: CoreHarness;
  let context: Context;
  let generationId: string;
  let reads = 0;
  let failures = 0;

  beforeEach(async () => {
    harness = await CoreHarness.open();
    reads = 0;
    failures = 0;
    context = harness.process(async (call) => {
      if (call.name !== 'generations.read') return call.proceed();
      reads += 1;
      if (failures === 0) return call.proceed();
      failures -= 1;
      throw new StoreUnavailable('not now');
    });
    ({ generationId } = await harness.create());
    reads = 0;
  });

  const wait = (waitMs: number, more: Partial<Waiting> = {}) =>
    waitForGeneration(context, harness.caller, generationId, { waitMs, ...more });

  it("refuses another owner's generation without a wait", async () => {
    const other = await harness.newCaller(0);
    expect(await codeOf(waitForGeneration(context, other, generationId, { waitMs: 10_000 }))).to.equal(
      'TASK_NOT_FOUND',
    );
    expect(context.generationWatch.followed).to.equal(0);
  });

  it('answers at once when it is not to wait', async () => {
    expect((await wait(0)).status).to.equal('queued');
    expect(reads).to.equal(1);
  });

  it('ends with the time, and follows nothing afterwards', async () => {
    const waiting = wait(LOOK_EVERY_MS * 2.5);
    await harness.clock.advance(LOOK_EVERY_MS * 2.5);
    expect((await waiting).status).to.equal('queued');
    expect(context.generationWatch.followed).to.equal(0);
    const before = reads;
    await harness.clock.advance(LOOK_EVERY_MS * 4);
    expect(reads).to.equal(before);
  });

  it('ends with the call, whose listener is removed', async () => {
    const call = new TestedCall();
    context = { ...context, call };
    const waiting = wait(50_000);
    await harness.clock.advance(LOOK_EVERY_MS);
    call.end();
    expect(await waiting.catch((error: unknown) => error)).to.be.instanceOf(CallOver);
    expect([call.listeners, context.generationWatch.followed]).to.deep.equal([0, 0]);
  });

  it('ends with what else may end it, and reads all the same', async () => {
    expect((await wait(50_000, { until: TestedCall.over() })).status).to.equal('queued');
    const until = new TestedCall();
    const waiting = wait(50_000, { until });
    await harness.clock.advance(LOOK_EVERY_MS);
    until.end();
    expect((await waiting).status).to.equal('queued');
    expect([until.listeners, context.generationWatch.followed]).to.deep.equal([0, 0]);
  });

  it('answers the end of the generation with the next look', async () => {
    const waiting = wait(50_000);
    await cancelGeneration(harness.context, harness.caller, generationId);
    await harness.clock.advance(LOOK_EVERY_MS);
    expect((await waiting).status).to.equal('cancelled');
  });

  it('tells of each look while the generation goes on', async () => {
    const told: string[] = [];
    const waiting = wait(50_000, { onLook: ({ status }) => void told.push(status) });
    await harness.clock.advance(LOOK_EVERY_MS);
    await harness.clock.advance(LOOK_EVERY_MS);
    await cancelGeneration(harness.context, harness.caller, generationId);
    await harness.clock.advance(LOOK_EVERY_MS);
    await waiting;
    expect(told).to.deep.equal(['queued', 'queued']);
  });

  it('reads once a look, however many calls wait', async () => {
    const waiting = Array.from({ length: 20 }, () => wait(50_000));
    await harness.clock.advance(0);
    reads = 0;
    await harness.clock.advance(LOOK_EVERY_MS);
    expect(reads).to.equal(1);
    await cancelGeneration(harness.context, harness.caller, generationId);
    await harness.clock.advance(LOOK_EVERY_MS);
    expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).to.deep.equal(new Set(['cancelled']));
  });

  it('goes on after a read that failed', async () => {
    const waiting = wait(50_000);
    await harness.clock.advance(0);
    failures = 1;
    await harness.clock.advance(LOOK_EVERY_MS);
    await cancelGeneration(harness.context, harness.caller, generationId);
    await harness.clock.advance(LOOK_EVERY_MS);
    expect((await waiting).status).to.equal('cancelled');
  });

  describe('of a process that writes itself', () => {
    it('ends with the write, and without a look', async () => {
      const waiting = waitForGeneration(harness.context, harness.caller, generationId, { waitMs: 50_000 });
      await harness.clock.advance(0);
      await cancelGeneration(harness.context, harness.caller, generationId);
      expect((await waiting).status).to.equal('cancelled');
      expect(harness.context.generationWatch.followed).to.equal(0);
    });

    it('ends also with a write that came while the generation was read', async () => {
      let isFirst = true;
      const own: Context = harness.process(async (call) => {
        const answer = await call.proceed();
        if (call.name !== 'generations.read' || !isFirst) return answer;
        isFirst = false;
        await cancelGeneration(own, harness.caller, generationId);
        return answer;
      });
      const ended = await waitForGeneration(own, harness.caller, generationId, { waitMs: 50_000 });
      expect(ended.status).to.equal('cancelled');
    });

    it('reads ten times less often where no other process writes', async () => {
      const alone = harness.process(
        (call) => {
          if (call.name === 'generations.read') reads += 1;
          return call.proceed();
        },
        {},
        { id: harness.ports.ids.uuid(), isExclusive: true },
      );
      const waiting = waitForGeneration(alone, harness.caller, generationId, { waitMs: 21_000 });
      await harness.clock.advance(0);
      reads = 0;
      await harness.clock.advance(21_000);
      expect((await waiting).status).to.equal('queued');
      expect(reads, 'four looks, and what is answered').to.equal(5);
    });

    it('finds an end of which it knows nothing when it looks', async () => {
      const alone = harness.process(undefined, {}, { id: harness.ports.ids.uuid(), isExclusive: true });
      const waiting = waitForGeneration(alone, harness.caller, generationId, { waitMs: 50_000 });
      await cancelGeneration(harness.context, harness.caller, generationId);
      await harness.clock.advance(LOOK_SELDOM_MS);
      expect((await waiting).status).to.equal('cancelled');
    });
  });

  describe('that was just created', () => {
    it('needs no right to read others, and is answered though it cannot be read', async () => {
      failures = 1;
      const created = await harness.generation(generationId);
      const waiting = waitForEnd(context, created, { waitMs: LOOK_EVERY_MS / 2 });
      await harness.clock.advance(LOOK_EVERY_MS);
      expect(await waiting).to.deep.equal(created);
    });

    it('is answered as it is when it has ended, or nobody waits', async () => {
      const created = await harness.generation(generationId);
      expect(await waitForEnd(context, created, { waitMs: 0 })).to.equal(created);
      expect(await waitForEnd(context, created, { waitMs: 5, until: TestedCall.over() })).to.equal(created);
      const ended = await cancelGeneration(harness.context, harness.caller, generationId);
      expect(await waitForEnd(context, ended, { waitMs: 5 })).to.equal(ended);
      expect(reads).to.equal(0);
    });
  });
});
