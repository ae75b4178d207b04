// Goal: each end of a generation is logged once, with ids and numbers only.
// Method: every way to end, and processes that are interrupted at each store call of a settlement or settle
// concurrently; log lines are counted against the generations.
import { expect } from 'chai';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import { settleGeneration } from '../../../core/generation/settle-generation.js';
import { recoverAll } from '../../fixtures/recovery-passes.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../harness/core-worker.js';
import { cutting } from '../../harness/cut-processes.js';

const endsOf = ({ notices }: CoreHarness) =>
  notices.filter(({ event }) => event === 'generation ended').map(({ about }) => about);

describe('the end of a generation', () => {
  let harness: CoreHarness;
  beforeEach(async () => {
    harness = await CoreHarness.open();
  });

  it('is logged with its outcome and its cost, and without its content', async () => {
    await CoreWorker.start(harness);
    const done = await untilSettled(harness, (await harness.create({ count: 3 })).generationId);
    harness.provider.newReport = () => ({
      state: 'failed',
      failure: { code: 'PROVIDER_REJECTED', message: 'No.', mayRetry: false },
    });
    const failed = await untilSettled(harness, (await harness.create()).generationId);
    const [first, second] = endsOf(harness);
    const { accountId } = harness.caller;
    expect(first).to.deep.equal({
      generationId: done.generationId,
      accountId,
      modelKey: 'plain-image',
      status: 'succeeded',
      chargedCredits: 30,
      attempts: 1,
      durationMs: (done.completedAt ?? 0) - done.createdAt,
    });
    expect(second).to.include({
      generationId: failed.generationId,
      status: 'failed',
      code: failed.error?.code,
      chargedCredits: 0,
    });
    expect(endsOf(harness)).to.have.length(2);
    expect(JSON.stringify(harness.notices)).to.not.include(harness.body()['prompt']);
  });

  it('is logged once when several processes settle at the same time', async () => {
    const processes = [harness.process(), harness.process(), harness.process()];
    const { generationId } = await harness.create();
    await cancelGeneration(harness.process(cutting(2, 'after', { dies: true })), harness.caller, generationId).catch(
      () => undefined,
    );
    const ended = await harness.generation(generationId);
    expect([ended.status, ended.settledAt, endsOf(harness).length]).to.deep.equal(['cancelled', undefined, 0]);
    await Promise.all(processes.map((process) => settleGeneration(process, ended)));
    expect(endsOf(harness).map((about) => [about['generationId'], about['status']])).to.deep.equal([
      [generationId, 'cancelled'],
    ]);
  });

  it('is logged once wherever a cancellation is interrupted, unless the answer to its very last write was lost', async () => {
    const names: string[] = [];
    const { generationId } = await harness.create();
    await cancelGeneration(
      harness.process(cutting(Infinity, 'before', { dies: false, names })),
      harness.caller,
      generationId,
    );
    const last = names.lastIndexOf('generations.replace');
    for (const cut of ['before', 'after'] as const) {
      for (let index = 0; index < names.length; index += 1) {
        const other = await CoreHarness.open();
        const g = await other.create();
        await cancelGeneration(other.process(cutting(index, cut, { dies: true })), other.caller, g.generationId).catch(
          () => undefined,
        );
        await recoverAll(other);
        // Where it was cut before anything was written, it is still queued.
        const isEnded = (await other.generation(g.generationId)).settledAt !== undefined;
        expect(endsOf(other).length, `${cut} ${names[index]}`).to.equal(
          isEnded && !(cut === 'after' && index === last) ? 1 : 0,
        );
      }
    }
  });
});
