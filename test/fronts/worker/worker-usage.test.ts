// Goal: a worker takes long ledgers into the usage of their accounts, so that nobody who asks first has to wait, and an outage
// of that ends nothing.
// Method: a worker over memory stores whose account has a long ledger; the first read of usage fails.
import { expect } from 'chai';
import { Worker } from '../../../apps/worker/worker.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { wholeAccount } from '../../../core/usage/usage.js';
import { addEntries } from '../../fixtures/long-ledger.js';
import { CoreHarness } from '../../harness/core-harness.js';

describe('a worker over a long ledger', () => {
  it('takes it into the usage of its account with its recovery, in spite of an outage', async () => {
    const harness = await CoreHarness.open();
    const { accountId } = harness.caller;
    await addEntries(harness.context, accountId, 3_000);
    const { usage } = harness.context;
    let reads = 0;
    const failing = {
      apply: usage.apply.bind(usage),
      list: usage.list.bind(usage),
      listTraces: usage.listTraces.bind(usage),
      read(...asked: Parameters<typeof usage.read>) {
        reads += 1;
        return reads === 1 ? Promise.reject(new StoreUnavailable('It is away.')) : usage.read(...asked);
      },
    };
    const worker = new Worker(harness.process(undefined, { usage: failing }), {
      workerId: 'w',
      recoveryIntervalMs: 1_000,
      stopGraceMs: 1_000,
    });
    await worker.start();
    await harness.clock.advance(2_500);
    await harness.clock.run(worker.stop());
    const [whole] = await usage.read([wholeAccount(accountId, 'uses')]);
    expect(whole?.lastSequence).to.equal(3_001);
    expect(harness.warnings.map(({ event }) => event)).to.deep.equal(['usage not brought up to date']);
  });
});
