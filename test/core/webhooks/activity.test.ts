import { expect } from 'chai';
import fc from 'fast-check';
import { activityOf, MAX_COUNTED, webhookActivity } from '../../../core/webhooks/activity.js';
import type { PageRequest } from '../../../core/paging.js';
import { type Delivery, DELIVERY_STATES } from '../../../core/webhooks/delivery.js';
import { delivery } from '../../contracts/delivery-store.contract.js';
import { uuidAt } from '../../fixtures/stored-records.js';
import { forAllSync } from '../../harness/for-all.js';

// Goal: the activity of a webhook counts each of its last 1,000 deliveries once, in the hour in which it was created.
// Method: random deliveries of two days beside sums over plain arrays; more deliveries than are counted; none; an endless list.

const HOUR_MS = 3_600_000;
const NOW = Date.UTC(2030, 0, 3, 12, 34);
const HOUR_OF_NOW = Date.UTC(2030, 0, 3, 12);
const FIRST = HOUR_OF_NOW - 47 * HOUR_MS;

const STORED = fc
  .array(
    fc.record({
      state: fc.constantFrom(...DELIVERY_STATES),
      createdAt: fc.integer({ min: FIRST, max: HOUR_OF_NOW + HOUR_MS - 1 }),
    }),
    { maxLength: 60 },
  )
  .map((all) => all.map((values, n) => delivery(n, values)).toSorted((a, b) => b.createdAt - a.createdAt));

function sum(numbers: readonly number[]): number {
  return numbers.reduce((before, number) => before + number, 0);
}

describe('the activity of a webhook', () => {
  it('counts each delivery once, in the hour of its creation', () => {
    forAllSync(200, [STORED], (stored: readonly Delivery[]) => {
      const { hours, delivered, failed, waiting, cancelled, isComplete } = activityOf(stored, NOW);
      expect(isComplete).to.equal(true);
      expect(delivered + failed + waiting + cancelled).to.equal(stored.length);
      expect(hours.map(({ startsAt }) => startsAt)).to.deep.equal(
        Array.from({ length: 48 }, (_, index) => FIRST + index * HOUR_MS),
      );
      for (const hour of hours) {
        const inHour = stored.filter(({ createdAt }) => Math.floor(createdAt / HOUR_MS) * HOUR_MS === hour.startsAt);
        expect(hour.delivered).to.equal(inHour.filter(({ state }) => state === 'delivered').length);
        expect(hour.failed).to.equal(inHour.filter(({ state }) => ['exhausted', 'disabled'].includes(state)).length);
      }
      expect([sum(hours.map((hour) => hour.delivered)), sum(hours.map((hour) => hour.failed))]).to.deep.equal([
        delivered,
        failed,
      ]);
    });
  });

  it('begins with the hour of the oldest delivery that is counted where there are more', () => {
    const everyMinute = Array.from({ length: MAX_COUNTED + 1 }, (_, n) =>
      delivery(n, { state: 'delivered', createdAt: NOW - n * 60_000 }),
    );
    const { hours, delivered, isComplete } = activityOf(everyMinute, NOW);
    expect([isComplete, delivered]).to.deep.equal([false, MAX_COUNTED]);
    expect(hours[0]?.startsAt).to.equal(Math.floor((NOW - (MAX_COUNTED - 1) * 60_000) / HOUR_MS) * HOUR_MS);
    expect([hours.at(-1)?.startsAt, sum(hours.map((hour) => hour.delivered))]).to.deep.equal([
      HOUR_OF_NOW,
      MAX_COUNTED,
    ]);
  });

  it('reads a bounded number of deliveries of another App than the one that is named', async () => {
    let reads = 0;
    const endless = delivery(1, { createdAt: NOW });
    const context = {
      clock: { now: () => NOW },
      credentials: { readApp: () => Promise.resolve({ accountId: endless.accountId }) },
      deliveries: {
        list: (_of: unknown, { limit }: PageRequest) => {
          reads += 1;
          if (reads > 1_000) throw new Error('It reads without end.');
          return Promise.resolve({ items: Array.from({ length: limit }, () => endless), nextCursor: 'more' });
        },
      },
    } as unknown as Parameters<typeof webhookActivity>[0];
    const of = { webhookId: endless.endpointId, appId: uuidAt(701) };
    expect(await webhookActivity(context, endless.accountId, of)).to.include({ waiting: 0, delivered: 0, failed: 0 });
    expect(reads).to.be.at.most(101);
  });

  it('has the next attempt, and the durations of attempts that were answered', () => {
    const answered = (n: number, durationMs: number, nextAttemptAt: number): Delivery =>
      delivery(n, {
        createdAt: NOW,
        nextAttemptAt,
        attempts: [{ event: 'generation.failed', startedAt: 5, durationMs, result: 'failed', status: 503 }],
      });
    const { attempts: noAnswer } = delivery(1, {
      attempts: [{ event: 'generation.failed', startedAt: 5, durationMs: 15_000, result: 'failed', fault: 'timeout' }],
    });
    const { nextAttemptAt: _, ...ended } = delivery(9, { state: 'exhausted', createdAt: NOW, attempts: noAnswer });
    const all = [...Array.from({ length: 20 }, (_one, n) => answered(n, 10 * (n + 1), NOW + 100 - n)), ended];
    expect(activityOf(all, NOW)).to.deep.include({ nextAttemptAt: NOW + 81, answeredMs: { median: 110, p95: 200 } });
    expect(activityOf([ended], NOW)).to.not.have.any.keys('nextAttemptAt', 'answeredMs');
    expect(activityOf([], NOW)).to.include({ isComplete: true, delivered: 0, failed: 0, waiting: 0, cancelled: 0 });
  });
});
