import { expect } from 'chai';
import { CallOver } from '../../../core/cancellation.js';
import { ServiceError } from '../../../core/errors.js';
import type { AccountStore } from '../../../core/ports/stores.js';
import { readOverview, readOverviewRange } from '../../../core/statistics/read-overview.js';
import { HALF_HOUR_MS } from '../../../core/statistics/half-hour.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { imageModel } from '../../fixtures/models.js';
import { CoreHarness, CoreWorker, untilSettled } from '../../harness/core-harness.js';

// Goal: the overview counts the generations that ended in its range, by half hour, those that are open, and the accounts that
// will soon have no credits.
// Method: generations of several processes over memory stores, with a manual clock; invalid ranges.

const DAY_MS = 86_400_000;
const at = (text: string): number => Date.parse(`2026-11-30T${text}Z`);

describe('the range of an overview', () => {
  it('defaults to the last 24 hours, in whole half hours', () => {
    const range = readOverviewRange({}, at('10:12:00'));
    expect(range).to.deep.equal({ from: at('10:30:00') - DAY_MS, to: at('10:30:00') });
    expect(readOverviewRange({ from: at('08:01:00'), to: at('09:00:00') }, at('10:00:00'))).to.deep.equal({
      from: at('08:00:00'),
      to: at('09:00:00'),
    });
    expect(readOverviewRange({ from: at('10:00:00') }, at('10:00:00')).to).to.equal(at('10:30:00'));
  });

  it('is refused if it is empty or longer than a week', () => {
    for (const [from, to] of [
      [at('09:00:00'), at('09:00:00')],
      [at('09:00:00'), at('08:00:00')],
      [at('09:00:00') - 7 * DAY_MS - 1, at('09:00:00')],
    ])
      expect(() => readOverviewRange({ from, to }, at('10:00:00')))
        .to.throw(ServiceError)
        .with.property('code', 'FIELD_INVALID');
    expect(() => readOverviewRange({ from: at('09:00:00') - 7 * DAY_MS, to: at('09:00:00') }, 0)).not.to.throw();
  });
});

describe('the overview', () => {
  const overviewOf = (harness: CoreHarness) => {
    // Another process than those that counted.
    const context = harness.process();
    return readOverview(context, readOverviewRange({}, context.clock.now()));
  };

  it('counts zero for a service without generations', async () => {
    const harness = await CoreHarness.open();
    const { total, halfHours, queue, longestWaiting, nearZero } = await overviewOf(harness);
    expect(halfHours).to.have.length(48);
    expect(total).to.deep.equal({
      succeeded: 0,
      failed: 0,
      cancelled: 0,
      failures: [],
      accept: { count: 0, medianMs: undefined, p95Ms: undefined },
      result: { count: 0, medianMs: undefined, p95Ms: undefined },
    });
    expect([queue, longestWaiting, nearZero]).to.deep.equal([[], [], { accounts: [], isComplete: true }]);
  });

  it('counts each generation once, in the half hour in which it ended', async () => {
    const harness = await CoreHarness.open();
    const cancelled = await harness.create();
    await harness.cancel(cancelled.generationId);
    await harness.cancel(cancelled.generationId);
    await harness.clock.advance(HALF_HOUR_MS);
    const worker = await CoreWorker.start(harness);
    const made = await harness.create();
    const result = await untilSettled(harness, made.generationId);
    await Promise.all([harness.context.outcomeCounts.store(), worker.context.outcomeCounts.store()]);
    const { total, halfHours } = await overviewOf(harness);
    expect(total).to.deep.include({ succeeded: 1, failed: 0, cancelled: 1 });
    expect(total.accept.count).to.equal(2);
    const tookMs = (result.completedAt ?? 0) - result.createdAt;
    expect(total.result.count).to.equal(1);
    expect(Math.abs((total.result.medianMs ?? Number.NaN) - tookMs)).to.be.at.most(tookMs / 20 + 0.5);
    expect(halfHours.slice(-2).map(({ outcomes }) => [outcomes.succeeded, outcomes.cancelled])).to.deep.equal([
      [0, 1],
      [1, 0],
    ]);
  });

  it('counts failures by code', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ queueTimeoutMs: 1_000 })] });
    const left = await harness.create();
    await harness.clock.advance(2_000);
    const worker = await CoreWorker.start(harness);
    await worker.dispatcher.deliver(left.generationId);
    await untilSettled(harness, left.generationId);
    await worker.context.outcomeCounts.store();
    const { total } = await overviewOf(harness);
    const code = (await harness.generation(left.generationId)).error?.code;
    expect(total).to.deep.include({ succeeded: 0, failed: 1, failures: [[code, 1]] });
  });

  it('counts open generations, and lists those that have waited longest', async () => {
    const harness = await CoreHarness.open({ models: [imageModel(), imageModel({ modelKey: 'other' })] });
    const first = await harness.create();
    await harness.clock.advance(5_000);
    await harness.post('of-other', harness.body({}, { model_key: 'other' }));
    await harness.clock.advance(1_000);
    const { queue, longestWaiting } = await overviewOf(harness);
    expect(queue).to.deep.equal([
      { modelKey: 'other', queued: 1, requeued: 0, running: 0, oldestWaitMs: 1_000 },
      { modelKey: 'plain-image', queued: 1, requeued: 0, running: 0, oldestWaitMs: 6_000 },
    ]);
    expect(longestWaiting.map(({ generation, waitMs }) => [generation.modelKey, waitMs])).to.deep.equal([
      ['plain-image', 6_000],
      ['other', 1_000],
    ]);
    expect(longestWaiting[0]).to.deep.include({
      accountName: 'Test',
      generation: await harness.generation(first.generationId),
    });
  });

  it('continues the search for accounts near zero after the call that started it has ended', async () => {
    const harness = await CoreHarness.open();
    const { accounts } = harness.ports;
    const list: AccountStore['list'] = async (page, call) => {
      if (call?.isOver === true) throw new CallOver();
      return accounts.list(page);
    };
    const context = harness.process(undefined, {
      accounts: Object.assign(Object.create(accounts) as AccountStore, { list }),
    });
    const range = readOverviewRange({}, context.clock.now());
    const first = readOverview({ ...context, call: TestedCall.over() }, range).catch(() => undefined);
    const second = await readOverview(context, range);
    await first;
    expect(second.nearZero).to.deep.equal({ accounts: [], isComplete: true });
  });

  it('lists accounts with less than a week of credits, the shortest first', async () => {
    const harness = await CoreHarness.open({ credits: 1_000 });
    await CoreWorker.start(harness);
    const use = async (credits: number, generations: number): Promise<string> => {
      const caller = await harness.newCaller(credits);
      for (let made = 0; made < generations; made += 1)
        await untilSettled(harness, (await harness.create({}, caller)).generationId);
      return caller.accountId;
    };
    const soon = await use(40, 3);
    await use(30, 0);
    await use(100, 3);
    const sooner = await use(40, 4);
    const { nearZero } = await overviewOf(harness);
    expect(nearZero.isComplete).to.equal(true);
    expect(nearZero.accounts.map(({ account, ...rest }) => ({ ...rest, id: account.accountId }))).to.deep.equal([
      { id: sooner, weekChargedCredits: 40 },
      { id: soon, weekChargedCredits: 30 },
    ]);
    await harness.clock.advance(8 * DAY_MS);
    expect((await overviewOf(harness)).nearZero.accounts).to.deep.equal([]);
  });
});
