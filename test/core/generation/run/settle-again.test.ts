// Goal: a generation whose settling failed is settled soon and without recovery, so that no credits stay reserved.
// Method: a process that loses every race for the account, or whose store answers nothing, for a while; then time passes
// while no recovery runs.
import { expect } from 'chai';
import { StoreUnavailable } from '../../../../core/errors.js';
import { cancelGeneration } from '../../../../core/generation/end-generation.js';
import { imageModel } from '../../../fixtures/core-models.js';
import type { PortCall } from '../../../fixtures/intercepted.js';
import { expectBooksRight } from '../../../fixtures/ledger-checks.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { CoreWorker, untilEnded, untilSettled } from '../../../harness/core-worker.js';

/** More than the twelve times that one command is tried. */
const RACES_LOST = 20;
const SOON_MS = 4_000;

function losing(times: number): (call: PortCall) => Promise<unknown> {
  let left = times;
  return async (call) => {
    if (call.name !== 'accounts.apply' || left === 0) return call.proceed();
    left -= 1;
    return 'conflict';
  };
}

async function expectSettledSoon(harness: CoreHarness, generationId: string, credits: number, open = 0): Promise<void> {
  const { completedAt = 0 } = await untilEnded(harness, generationId);
  const { settledAt = Infinity, chargedCredits } = await untilSettled(harness, generationId);
  expect(settledAt - completedAt).to.be.within(1, SOON_MS);
  expect(chargedCredits).to.equal(credits);
  const account = await harness.account();
  expectBooksRight(account, await harness.entries());
  expect(account.holds.size).to.equal(open);
  expect(harness.warnings.map(({ event }) => event)).to.include('generation not settled yet');
}

describe('settling that failed is tried again soon', () => {
  it('by a worker that lost every race for the account of a run', async () => {
    const harness = await CoreHarness.open();
    await CoreWorker.start(harness, 'worker', losing(RACES_LOST));
    const { generationId } = await harness.create({ count: 2 });
    await expectSettledSoon(harness, generationId, 20);
  });

  it('by another worker, although the first one never wins', async () => {
    const harness = await CoreHarness.open();
    const first = await CoreWorker.start(harness, 'first', losing(Infinity));
    const { generationId } = await harness.create({ count: 2 });
    await untilEnded(harness, generationId);
    await first.context.wakeUps.stop();
    await CoreWorker.start(harness, 'second');
    await expectSettledSoon(harness, generationId, 20);
  });

  it('after the store was unavailable', async () => {
    const harness = await CoreHarness.open();
    let isAway = true;
    await CoreWorker.start(harness, 'worker', async (call) => {
      if (call.name !== 'accounts.apply' || !isAway) return call.proceed();
      isAway = false;
      throw new StoreUnavailable('away');
    });
    const { generationId } = await harness.create();
    await expectSettledSoon(harness, generationId, 10);
  });

  it('of one that a client cancelled, far behind in the line of its model', async () => {
    const harness = await CoreHarness.open({
      models: [imageModel({ concurrency: 1 })],
      credits: 10_000,
    });
    harness.provider.newReport = () => ({ state: 'running' });
    const worker = await CoreWorker.start(harness);
    // The wake-ups of this many at most are held by who waits, and are not delivered again meanwhile.
    for (let n = 0; n < 501; n += 1) await harness.create();
    const { generationId } = await harness.create();
    await harness.clock.advance(1_000);
    expect(worker.dispatcher.counts).to.deep.equal({
      running: 1,
      waiting: 501,
    });
    const front = harness.process(losing(12));
    await harness.clock.run(cancelGeneration(front, harness.caller, generationId));
    await expectSettledSoon(harness, generationId, 0, 501);
  });
});
