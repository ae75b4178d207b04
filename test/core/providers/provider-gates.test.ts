import { expect } from 'chai';
import type { Boot } from '../../../core/boot.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { ProviderGates } from '../../../core/providers/provider-gates.js';
import { OwnShare } from '../../../core/providers/provider-shares.js';
import { type Moment, type ProviderLimits, SHARE_MS } from '../../../core/providers/provider-use.js';
import { MAX_CLOCK_SKEW_MS } from '../../../core/settings.js';
import { pause } from '../../../core/waiting.js';
import { withWallTime } from '../../fixtures/clocks.js';
import { imageModel } from '../../fixtures/models.js';
import { connectedProviders, PROMISES, ScriptedProvider } from '../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../harness/core-harness.js';

// Goal: a submission right that was taken and never used is available to the next generation; after a pause one task at
// a time is tried, which does not hold the others up for as long as a slow answer takes; neither calls that were under
// way when a pause began nor a wall clock that is set change how long it is; nothing is submitted with a lapsed right
// or without a slot; with exclusive stores the shares of earlier processes are void, and their tasks take slots.
// Method: the gates of one process over one provider, a manual clock, and a store of shares that can be unavailable.

const HOUR_MS = 3_600_000;
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
  const store = { isAway: false, intact: { read: providerUses.read.bind(providerUses), replace } };
  providerUses.replace = async (...args) => {
    if (store.isAway) throw new StoreUnavailable('No answer.');
    return replace(...args);
  };
  return { harness, provider, store, gates: providerGates, clock: harness.clock };
}

/** Requests a slot and enters as soon as there is one. */
async function entered(gates: ProviderGates, clock: CoreHarness['clock']) {
  let entry = gates.enter(['p']);
  gates.waitFor(new Map([['p', 1]]));
  await clock.until(() => (entry ??= gates.enter(['p'])) !== undefined, 'there is room');
  gates.waitFor(new Map());
  return entry!;
}

type Entry = NonNullable<ReturnType<ProviderGates['enter']>>;

function fail(entry: Entry): void {
  for (let times = 0; times < 5; times += 1) entry.failed(new Error('No answer.'));
}

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

  for (const hours of [-2, 2]) {
    it(`are paused as long where the clock is set by ${hours} hours`, async () => {
      for (const [why, pauses, pauseMs] of [
        ['refused', (entry: Entry) => entry.full(FULL), 1_000],
        ['silent', fail, 1_000],
        ['asked to wait', (entry: Entry) => entry.full({ ...FULL, retryAfterMs: 90_000 }), 90_000],
        ['tried', undefined, 5_000],
      ] as const) {
        const { gates, clock } = await open({});
        const first = gates.enter(['p'])!;
        (pauses ?? ((entry) => entry.full(FULL)))(first);
        first.release();
        if (pauses === undefined) {
          await clock.advance(1_000);
          gates.enter(['p'])!.submitting();
        }
        let hasRoom = 0;
        gates.onRoom(() => (hasRoom += 1));
        gates.waitFor(new Map([['p', 1]]));
        clock.jump(hours * HOUR_MS);
        const { pausedUntil } = gates.seen[0]!;
        if (pauses !== undefined) expect(pausedUntil, why).to.equal(clock.now() + pauseMs);
        await clock.advance(pauseMs - 1);
        expect([gates.enter(['p']), hasRoom], why).to.deep.equal([undefined, 0]);
        await clock.advance(1);
        expect(hasRoom, `${why}: those who wait are told`).to.equal(1);
        expect(gates.enter(['p']), why).to.not.equal(undefined);
      }
    });

    it(`use what they were given no longer, and have it again at once, where the clock is set by ${hours} hours`, async () => {
      const { gates, clock, store } = await open({ maxConcurrent: 1 });
      const entry = await entered(gates, clock);
      clock.jump(hours * HOUR_MS);
      const setAt = clock.monotonic();
      await clock.until(() => entry.maySubmit(), 'it may submit');
      expect(clock.monotonic() - setAt).to.be.below(1_000);
      store.isAway = true;
      await clock.advance(SHARE_MS);
      expect(entry.maySubmit(), 'lapsed').to.equal(false);
      store.isAway = false;
      await clock.until(() => entry.maySubmit(), 'it was given again');
      entry.release();
      expect(gates.enter(['p']), 'the slot is free').to.not.equal(undefined);
    });

    it(`leave a worker its slots where the clock of one of both is set by ${hours} hours`, async () => {
      for (const who of ['holder', 'other']) {
        const { harness } = await open({ maxConcurrent: 1 });
        let setBy = 0;
        const set = { clock: withWallTime(harness.clock, () => harness.clock.now() + setBy) };
        const holder = harness.process(undefined, who === 'holder' ? set : {}).providerGates;
        const other = harness.process(undefined, who === 'other' ? set : {}).providerGates;
        const entry = await entered(holder, harness.clock);
        other.waitFor(new Map([['p', 1]]));
        await harness.clock.advance(20_000);
        setBy = hours * HOUR_MS;
        for (let passed = 0; passed < 10 * 60_000; passed += 500) {
          await harness.clock.advance(500);
          expect(other.enter(['p']), `${who}, after ${passed} ms`).to.equal(undefined);
        }
        entry.submitting();
        entry.release();
        await harness.clock.until(() => other.enter(['p']) !== undefined, 'it was given to the other one', 60_000);
      }
    });
  }

  it('do not use a share longer where the monotonic clock stood still while the machine slept', async () => {
    const { harness } = await open({ maxConcurrent: 1 });
    let sleptMs = 0;
    const slept = withWallTime(harness.clock, () => harness.clock.now() + sleptMs);
    const { providerGates } = harness.process(undefined, { clock: slept });
    const entry = await entered(providerGates, harness.clock);
    sleptMs = SHARE_MS;
    expect(entry.maySubmit()).to.equal(false);
    await harness.clock.until(() => entry.maySubmit(), 'it was given again');
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
    const other = harness.process(undefined, { providerUses: store.intact }).providerGates;
    const third = await entered(other, clock);
    store.isAway = false;
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

  it('take the slots of a worker that is gone once its calls are over, from when they first saw its share', async () => {
    for (const aheadMs of [-HOUR_MS, 0, HOUR_MS]) {
      const { gates, clock, harness, store } = await open({ maxConcurrent: 1 });
      await entered(gates, clock);
      store.isAway = true;
      const ahead = withWallTime(clock, () => clock.now() + aheadMs);
      const next = harness.process(undefined, { providerUses: store.intact, clock: ahead }).providerGates;
      const from = clock.monotonic();
      await entered(next, clock);
      const { providerCallMs } = harness.settings;
      // For a wall clock that is an hour ahead, the share expired long ago.
      const overMs = SHARE_MS + (aheadMs > 0 ? 0 : providerCallMs);
      expect(clock.monotonic() - from, `${aheadMs} ms ahead`).to.be.within(overMs, overMs + 1_000);
    }
  });

  it('take no slots of a worker whose share they saw only when a slow read had ended', async () => {
    const { gates, clock, harness, store } = await open({ maxConcurrent: 1 });
    let isSlow = true;
    const read: typeof store.intact.read = async (provider) => {
      if (isSlow) await pause(clock, 100_000);
      isSlow = false;
      return store.intact.read(provider);
    };
    const next = harness.process(undefined, { providerUses: { ...store.intact, read } }).providerGates;
    next.waitFor(new Map([['p', 1]]));
    await clock.advance(99_000);
    await entered(gates, clock);
    store.isAway = true;
    await clock.advance(10_000);
    expect(next.enter(['p'])).to.equal(undefined);
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

describe('the gates of a process with exclusive stores', () => {
  const NEXT: Boot = { id: 'next', isExclusive: true };

  async function afterAnother(limits: ProviderLimits) {
    const opened = await open(limits);
    const earlier = opened.gates;
    const left = [await entered(earlier, opened.clock)];
    left[0]!.submitting();
    const { providerGates } = opened.harness.process(undefined, {}, NEXT);
    return { ...opened, earlier, next: providerGates };
  }

  it('let nobody in before the tasks of earlier processes are counted', async () => {
    const { clock, next } = await afterAnother({ maxConcurrent: 1 });
    next.waitFor(new Map([['p', 1]]));
    await next.report();
    await clock.advance(10 * 60_000);
    expect(next.enter(['p'])).to.equal(undefined);
    const adopted = next.adopt('p');
    expect(adopted.maySubmit(), 'nor submit a task again').to.equal(false);
    expect(next.seen[0]).to.include({ slots: 0 });
    next.counted();
    adopted.release();
    await clock.until(() => next.enter(['p']) !== undefined, 'it is let in', 1_000);
  });

  it('count nothing before submissions to a provider without a bound on tasks', async () => {
    const { clock, next } = await afterAnother({ maxSubmissionsPerMinute: 60 });
    next.waitFor(new Map([['p', 1]]));
    await clock.until(() => next.enter(['p']) !== undefined, 'it is let in', 10_000);
  });

  it('let others in at once where earlier processes left a share and no task', async () => {
    const { clock, next } = await afterAnother({ maxConcurrent: 1 });
    next.waitFor(new Map([['p', 1]]));
    next.counted();
    const from = clock.monotonic();
    await clock.until(() => next.enter(['p']) !== undefined, 'it is let in');
    expect(clock.monotonic() - from).to.be.below(1_000);
  });

  it('let in only as many as the tasks of earlier processes leave room for', async () => {
    const { clock, next } = await afterAnother({ maxConcurrent: 3 });
    const adopted = [next.adopt('p'), next.adopt('p')];
    next.counted();
    const entry = await entered(next, clock);
    expect(entry.maySubmit()).to.equal(true);
    entry.submitting();
    next.waitFor(new Map([['p', 5]]));
    await clock.advance(10 * 60_000);
    expect(next.enter(['p'])).to.equal(undefined);
    adopted[0]!.release();
    adopted[0]!.release();
    expect([next.enter(['p']) !== undefined, next.enter(['p'])]).to.deep.equal([true, undefined]);
  });

  it('let a task of unknown outcome be submitted again only where the others leave room for it', async () => {
    const { clock, next } = await afterAnother({ maxConcurrent: 2 });
    const [unknown, ...others] = [next.adopt('p'), next.adopt('p'), next.adopt('p')] as const;
    next.counted();
    await clock.advance(30_000);
    expect(unknown.maySubmit(), 'the limit was lowered: two others are there').to.equal(false);
    others[0].release();
    await clock.until(() => unknown.maySubmit(), 'there is room');
  });
});

// Goal: a task that may be at the provider keeps its slot while the share of its process is not known.
// Method: two holders and a share of one slot, which lapses between the submission of one and the question of the other.

const at = (ms: number): Moment => ({ wall: 1_000_000 + ms, monotonic: ms });

describe('the share of a process at a provider', () => {
  it('keeps the slot of a task of unknown outcome while it has lapsed', () => {
    const share = new OwnShare();
    const give = (slots: number, from: number) =>
      share.renew(
        { slots, submissions: 2, wanted: 2, waiting: 1, expiresAt: at(from + 10_000), isShort: false, isDry: false },
        at(from),
      );
    const [first, other] = [{}, {}];
    give(1, 0);
    expect(share.take(first, 0, at(1))).to.equal(true);
    share.submitting(first);
    expect(share.maySubmit(first, at(20_000)), 'again, under a share that has lapsed').to.equal(false);
    give(1, 20_001);
    expect(share.maySubmit(other, at(20_002)), 'the slot of the first').to.equal(false);
    expect(share.maySubmit(first, at(20_003)), 'its own slot').to.equal(true);
  });
});
