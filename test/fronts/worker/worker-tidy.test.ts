// Goal: a store's tidying runs with every recovery, including the one at the start, and its failure ends nothing.
// Method: a worker over memory stores; calls are counted.
import { expect } from 'chai';
import { Worker } from '../../../apps/worker/worker.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { CoreHarness } from '../../harness/core-harness.js';

describe('a worker', () => {
  it('tidies its stores with every recovery', async () => {
    const harness = await CoreHarness.open();
    let calls = 0;
    const tidy = () => {
      calls += 1;
      return calls === 1 ? Promise.reject(new StoreUnavailable('It is away.')) : Promise.resolve();
    };
    const worker = new Worker(harness.process(), {
      workerId: 'w',
      recoveryIntervalMs: 1_000,
      stopGraceMs: 1_000,
      tidy,
    });
    await worker.start();
    await harness.clock.advance(10);
    expect(calls, 'at the start').to.equal(1);
    await harness.clock.advance(5_000);
    expect(calls).to.be.within(5, 7);
    await harness.clock.run(worker.stop());
    expect(harness.warnings.map(({ event }) => event)).to.deep.equal(['stores not tidied']);
  });
});
