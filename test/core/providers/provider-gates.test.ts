// Goal: a submission that was taken and never made is there for the next one; after a pause one task at a time is tried, which
// does not hold the others up for as long as a slow answer takes; neither calls that were under way when a pause began nor a
// clock that is set back lengthen it;
// nobody submits with what has lapsed, or without a slot.
// Method: the gates of one process over one provider, a manual clock, and a store of shares that can be unavailable.
import { expect } from 'chai';
import { StoreUnavailable } from '../../../core/errors.js';
import type { ProviderGates } from '../../../core/providers/provider-gates.js';
import { SHARE_MS, type ProviderLimits } from '../../../core/providers/provider-use.js';
import { MAX_CLOCK_SKEW_MS } from '../../../core/settings.js';
import { connectedProviders } from '../../fixtures/connected-providers.js';
import { imageModel } from '../../fixtures/core-models.js';
import { PROMISES, ScriptedProvider } from '../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../harness/core-harness.js';

const FULL = { code: 'PROVIDER_UNAVAILABLE', message: 'It is full.', mayRetry: true } as const;

async function open(limits: ProviderLimits) {
  const provider = new ScriptedProvider();
  const harness = await CoreHarness.open({
    models: [imageModel({ route: [{ provider: 'p', settings: {}, weight: 1 }] })],
    ports: { providers: connectedProviders({ p: provider }, { p: limits }) },
  });
  const { providerGates } = harness.context;
  const { providerUses } = harness.ports;
  const replace = providerUses.replace.bind(providerUses);
  const store = { isAway: false };
  providerUses.replace = async (...args) => {
    if (store.isAway) throw new StoreUnavailable('No answer.');
    return replace(...args);
  };
  return { harness, provider, store, gates: providerGates, clock: harness.clock };
}

/** Enters as soon as there is room, which is asked for. */
async function entered(gates: ProviderGates, clock: CoreHarness['clock']) {
  let entry = gates.enter(['p']);
  gates.waitFor(new Map([['p', 1]]));
  await clock.until(() => (entry ??= gates.enter(['p'])) !== undefined, 'there is room');
  gates.waitFor(new Map());
  return entry!;
}

type Entry = NonNullable<ReturnType<ProviderGates['enter']>>;

describe('the gates of a process', () => {
  it('have the submission again that an entry took and did not make, as long as its share is valid', async () => {
    const { gates, clock } = await open({ maxSubmissionsPerMinute: 2 });
    const unused = await entered(gates, clock);
    expect(gates.enter(['p']), 'one is given at a time').to.equal(undefined);
    unused.release();
    unused.release();
    const used = gates.enter(['p'])!;
    used.submitting();
    used.release();
    expect(gates.enter(['p']), 'that one was made').to.equal(undefined);
  });

  it('do not have it again once its share has expired', async () => {
    const { gates, clock, harness } = await open({ maxSubmissionsPerMinute: 2 });
    const unused = await entered(gates, clock);
    await clock.advance(30_000);
    await gates.report();
    const before = await harness.ports.providerUses.read('p');
    unused.release();
    expect(gates.enter(['p'])).to.equal(undefined);
    expect(before?.shares).to.have.length(1);
  });

  it('let one in after a pause, and the others once it was taken, or was not refused for 5 seconds', async () => {
    for (const [how, waitMs] of [
      ['taken', 0],
      ['under way', 5_000],
    ] as const) {
      const { gates, clock } = await open({});
      const refused = gates.enter(['p'])!;
      refused.full(FULL);
      refused.release();
      expect(gates.enter(['p']), 'paused').to.equal(undefined);
      await clock.advance(1_000);
      const tried = gates.enter(['p'])!;
      tried.submitting();
      expect(gates.enter(['p']), 'one is tried').to.equal(undefined);
      if (how === 'taken') tried.answered(20);
      let hasRoom = 0;
      gates.onRoom(() => (hasRoom += 1));
      gates.waitFor(new Map([['p', 1]]));
      await clock.advance(waitMs);
      expect(gates.enter(['p']), how).to.not.equal(undefined);
      expect(hasRoom, 'those who wait are told').to.equal(how === 'taken' ? 0 : 1);
    }
  });

  it('are paused no longer by calls that were under way when the pause began', async () => {
    const { gates, clock } = await open({});
    const entries = Array.from({ length: 12 }, () => gates.enter(['p'])!);
    for (const entry of entries) entry.failed(new Error('No answer.'));
    await clock.advance(1_000);
    expect(gates.enter(['p'])).to.not.equal(undefined);
  });

  it('are paused no longer because the clock is set back', async () => {
    const HOUR_MS = 3_600_000;
    for (const [why, pause] of [
      ['refused', (entry: Entry) => entry.full(FULL)],
      [
        'silent',
        (entry: Entry) => {
          for (let times = 0; times < 5; times += 1) entry.failed(new Error('No answer.'));
        },
      ],
      ['tried', undefined],
    ] as const) {
      const { gates, clock } = await open({});
      const first = gates.enter(['p'])!;
      (pause ?? ((entry) => entry.full(FULL)))(first);
      first.release();
      if (pause === undefined) {
        await clock.advance(1_000);
        gates.enter(['p'])!.submitting();
      }
      expect(gates.enter(['p']), `${why}: paused`).to.equal(undefined);
      clock.jump(-HOUR_MS);
      expect(gates.enter(['p']), why).to.not.equal(undefined);
    }
  });

  it('let nobody submit with a slot and a submission that have lapsed, until they are given again', async () => {
    const { gates, clock, store } = await open({ maxConcurrent: 1, maxSubmissionsPerMinute: 60 });
    const entry = await entered(gates, clock);
    expect(entry.maySubmit(), 'just let in').to.equal(true);
    store.isAway = true;
    await clock.advance(SHARE_MS);
    expect(entry.maySubmit(), 'lapsed').to.equal(false);
    store.isAway = false;
    await clock.until(() => entry.maySubmit(), 'it was given again');
    entry.submitting();
  });

  it('give a lapsed slot to one of two that have yet to submit, where another worker has the other one', async () => {
    const { harness, gates, clock, store } = await open({ maxConcurrent: 2 });
    const entries = [await entered(gates, clock), await entered(gates, clock)] as const;
    store.isAway = true;
    await clock.advance(SHARE_MS + harness.settings.providerCallMs + MAX_CLOCK_SKEW_MS);
    store.isAway = false;
    const other = harness.process().providerGates;
    const third = await entered(other, clock);
    expect(third.maySubmit()).to.equal(true);
    await clock.until(() => entries[0].maySubmit(), 'one has a slot');
    entries[0].submitting();
    await clock.advance(30_000);
    expect(entries[1].maySubmit(), 'there are no more').to.equal(false);
    third.release();
    await other.report();
    await clock.until(() => entries[1].maySubmit(), 'it was given back');
  });

  it('let a task that was adopted be submitted again only in a slot', async () => {
    const { gates, clock } = await open({ maxConcurrent: 1 });
    const entry = await entered(gates, clock);
    expect(entry.maySubmit()).to.equal(true);
    entry.submitting();
    const adopted = gates.adopt('p');
    await clock.advance(10_000);
    expect([adopted.maySubmit(), entry.maySubmit()]).to.deep.equal([false, true]);
    entry.release();
    await clock.until(() => adopted.maySubmit(), 'the slot is free');
  });

  it('take the slots of a lapsed share no sooner than a submission that answers with outputs may last', async () => {
    const { gates, provider, clock, harness } = await open({ maxConcurrent: 1 });
    provider.promised = { ...PROMISES, answersWithOutputs: true };
    await entered(gates, clock);
    await gates.leave();
    const other = harness.process().providerGates;
    const beganAt = clock.now();
    await entered(other, clock);
    const { runTimeoutMs } = harness.models[0]!;
    expect(clock.now() - beganAt).to.be.within(runTimeoutMs, runTimeoutMs + 90_000);
    expect(runTimeoutMs).to.be.above(harness.settings.providerCallMs);
  });
});
