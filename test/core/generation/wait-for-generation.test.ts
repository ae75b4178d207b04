// Goal: a call that waits for a generation learns of its end, never longer than it asked for, and costs one read for
// all that wait for the same one.
// Method: core on memory adapters with a clock that the test moves; reads counted on their way to the store.
import { expect } from 'chai';
import { cancelGeneration } from '../../../core/generation/cancel-generation.js';
import { LOOK_EVERY_MS } from '../../../core/generation/generation-watch.js';
import { waitForGeneration, type Waiting } from '../../../core/generation/wait-for-generation.js';
import type { Context } from '../../../core/context.js';
import { StoreUnavailable } from '../../../core/errors.js';
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
    expect((await waiting).status).to.equal('queued');
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
});
