// Goal: a worker that does not know a generation's model leaves it to one that does; the generation fails only at its
// deadline, without charge.
// Method: workers on the same memory stores with different catalogs, on a manual clock; reads are counted.
import { expect } from 'chai';
import type { Generation } from '../../../../core/generation/generation.js';
import { Recovery } from '../../../../core/recovery/recover.js';
import { catalogOf } from '../../../fixtures/catalog-of.js';
import { imageModel } from '../../../fixtures/core-models.js';
import { expectBooksRight } from '../../../fixtures/ledger-checks.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../../harness/core-worker.js';

const QUEUE_MS = 600_000;
const NOTHING = catalogOf(() => []);

describe('a worker that does not know the model', () => {
  let harness: CoreHarness;
  beforeEach(async () => {
    harness = await CoreHarness.open({ models: [imageModel({ queueTimeoutMs: QUEUE_MS, runTimeoutMs: QUEUE_MS })] });
  });

  async function expectFailedWithoutCharge(g: Generation, earliestAt: number): Promise<void> {
    expect([g.status, g.error?.code, g.error?.retryable, g.chargedCredits]).to.deep.equal([
      'failed',
      'MODEL_UNAVAILABLE',
      false,
      0,
    ]);
    expect(g.completedAt).to.be.at.least(earliestAt);
    const account = await harness.account();
    expect([account.holds.size, account.available]).to.deep.equal([0, 1_000]);
    expectBooksRight(account, await harness.entries());
  }

  it('fails a queued generation at the queue deadline, and examines it a bounded number of times until then', async () => {
    let looks = 0;
    const { generationId, terms } = await harness.create();
    harness.models = [];
    await CoreWorker.start(harness, 'worker', (call) => {
      if (call.name === 'generations.read') looks += 1;
      return call.proceed();
    });
    const g = await untilSettled(harness, generationId);
    await expectFailedWithoutCharge(g, terms.queueDeadlineAt);
    expect(g.attemptsMade).to.equal(0);
    // Doubling from a second to a minute, then once a minute; two reads each, by the dispatcher and for the lease.
    expect(looks).to.be.within(2, 2 * (7 + QUEUE_MS / 60_000 + 2));
  });

  it('fails one whose provider is not connected in the same way', async () => {
    const { generationId, terms } = await harness.create();
    harness.models = [imageModel({ route: [{ provider: 'gone', settings: {}, weight: 1 }] })];
    await CoreWorker.start(harness);
    await expectFailedWithoutCharge(await untilSettled(harness, generationId), terms.queueDeadlineAt);
  });

  it('is recognised by recovery, which ends what no worker ran', async () => {
    const { generationId, terms } = await harness.create();
    harness.models = [];
    await harness.clock.advance(QUEUE_MS + 1);
    await harness.clock.run(new Recovery(harness.context).pass());
    await expectFailedWithoutCharge(await untilSettled(harness, generationId), terms.queueDeadlineAt);
  });

  it('leaves a queued generation to a worker that knows it', async () => {
    const { generationId } = await harness.create();
    const ignorant = CoreWorker.idle(harness, 'ignorant', undefined, { catalog: NOTHING });
    await ignorant.dispatcher.deliver(generationId);
    expect((await harness.generation(generationId)).status).to.equal('queued');
    await CoreWorker.start(harness, 'knowing');
    expect((await untilSettled(harness, generationId)).status).to.equal('succeeded');
  });

  it('runs it once its own catalog has the model', async () => {
    const { generationId } = await harness.create();
    const known = harness.models;
    harness.models = [];
    await CoreWorker.start(harness);
    await harness.clock.advance(QUEUE_MS / 2);
    expect((await harness.generation(generationId)).status).to.equal('queued');
    harness.models = known;
    expect((await untilSettled(harness, generationId)).status).to.equal('succeeded');
  });

  it('leaves a running generation without a holder to a worker that knows it', async () => {
    const generationId = await leftRunning(harness);
    const ignorant = CoreWorker.idle(harness, 'ignorant', undefined, { catalog: NOTHING });
    const before = await harness.generation(generationId);
    await ignorant.dispatcher.deliver(generationId);
    expect(await harness.generation(generationId)).to.deep.equal(before);
    harness.provider.onlyTask.report = {
      state: 'failed',
      failure: { code: 'PROVIDER_REJECTED', message: 'No.', mayRetry: false },
    };
    await CoreWorker.start(harness, 'knowing');
    expect((await untilSettled(harness, generationId)).error?.code).to.equal('PROVIDER_REJECTED');
  });

  it('fails a running generation without a holder at the run deadline', async () => {
    const generationId = await leftRunning(harness);
    harness.models = [];
    await CoreWorker.start(harness, 'ignorant');
    const { runDeadlineAt } = await harness.generation(generationId);
    await expectFailedWithoutCharge(await untilSettled(harness, generationId), runDeadlineAt as number);
  });
});

/** The id of a generation whose worker started it, then stopped and handed its lease back. */
async function leftRunning(harness: CoreHarness): Promise<string> {
  const worker = await CoreWorker.start(harness, 'leaving');
  harness.provider.newReport = () => ({ state: 'running' });
  const { generationId } = await harness.create();
  await harness.clock.advance(5_000);
  await worker.context.wakeUps.stop();
  await harness.clock.run(worker.dispatcher.stop(1_000));
  return generationId;
}
