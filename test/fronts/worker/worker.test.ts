import { expect } from 'chai';
import { Worker } from '../../../apps/worker/worker.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { wholeAccount } from '../../../core/usage/usage.js';
import { addEntries } from '../../fixtures/ledgers.js';
import { CoreHarness } from '../../harness/core-harness.js';

// Goal: a store's tidying runs with every recovery, including the one at the start, and its failure ends nothing.
// Method: a worker over memory stores; calls are counted.

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

// Goal: a worker takes long ledgers into the usage of their accounts, so that the first reader does not have to wait;
// neither an outage of that nor a long one of them holds anything else up.
// Method: a worker over memory stores whose account has a long ledger; reads of usage fail, or end when the test says so.

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
      removeTraces: usage.removeTraces.bind(usage),
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

  it('recovers as often while one takes long, begins no other one, and waits for it when it stops', async () => {
    const harness = await CoreHarness.open();
    await addEntries(harness.context, harness.caller.accountId, 3_000);
    const { usage } = harness.context;
    let reads = 0;
    let recovered = 0;
    let end = (): void => undefined;
    const slow = {
      apply: usage.apply.bind(usage),
      list: usage.list.bind(usage),
      listTraces: usage.listTraces.bind(usage),
      removeTraces: usage.removeTraces.bind(usage),
      async read(...asked: Parameters<typeof usage.read>) {
        reads += 1;
        await new Promise<void>((resolve) => {
          end = resolve;
        });
        return usage.read(...asked);
      },
    };
    const worker = new Worker(harness.process(undefined, { usage: slow }), {
      workerId: 'w',
      recoveryIntervalMs: 1_000,
      stopGraceMs: 1_000,
      onPassed: () => {
        recovered += 1;
      },
    });
    await worker.start();
    await harness.clock.advance(5_500);
    expect(recovered).to.be.within(5, 7);
    expect(reads).to.equal(1);
    let hasStopped = false;
    const stopped = worker.stop().finally(() => {
      hasStopped = true;
    });
    await harness.clock.advance(500);
    expect(hasStopped).to.equal(false);
    end();
    expect(await harness.clock.run(stopped)).to.equal(true);
    expect(reads).to.equal(1);
  });
});
