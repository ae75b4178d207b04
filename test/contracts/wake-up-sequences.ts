import { expect } from 'chai';
import fc from 'fast-check';
import type { WakeUps } from '../../core/ports/wake-ups.js';
import { aboutGeneration, uuidAt } from '../fixtures/stored-records.js';
import { forAll } from '../harness/for-all.js';

export interface WakeUpsSupports {
  /** The current time for the wake-ups. */
  readonly now: () => number;
  /** Lets time pass: advances a manual clock, or waits. */
  readonly elapse: (ms: number) => Promise<void>;
  /** How long nothing must happen for us to believe that nothing will; longer than any retry. */
  readonly quietMs: number;
  /** Another process over the same store, where they are kept; the first one was stopped before. */
  readonly reopen?: (wakeUps: WakeUps) => Promise<WakeUps>;
}

export interface WakeUpsBench {
  readonly wakeUps: () => WakeUps;
  readonly supports: WakeUpsSupports;
  /** Lets time pass until it is so; the test's own time limit is the bound. */
  readonly until: (isSo: () => boolean) => Promise<void>;
}

/** A schedule of one of a few generations, some time from now, after some time has passed. */
interface Scheduling {
  readonly n: number;
  readonly inMs: number;
  readonly pauseMs: number;
}

const scheduling = fc.record<Scheduling>({
  n: fc.integer({ min: 1, max: 4 }),
  inMs: fc.integer({ min: -50, max: 300 }),
  pauseMs: fc.constantFrom(0, 0, 30),
});

/**
 * Whatever is scheduled how often, each generation is delivered in or after the time of its last schedule, and then
 * never again.
 */
export function wakeUpSequences({ wakeUps, supports, until }: WakeUpsBench): void {
  it('delivers after the last schedule of each generation, whatever came before', async () => {
    const lastDelivery = new Map<string, number>();
    let deliveries = 0;
    await wakeUps().start(async ({ id }) => {
      deliveries += 1;
      lastDelivery.set(id, supports.now());
      if (deliveries % 7 === 0) throw new Error('every seventh delivery fails');
    }, 2);
    await forAll(10, [fc.array(scheduling, { maxLength: 12 })], async (schedulings) => {
      const lastAt = new Map<string, number>();
      for (const { n, inMs, pauseMs } of schedulings) {
        const at = supports.now() + inMs;
        lastAt.set(uuidAt(n), at);
        lastDelivery.delete(uuidAt(n));
        await wakeUps().schedule(aboutGeneration(uuidAt(n)), at);
        if (pauseMs > 0) await supports.elapse(pauseMs);
      }
      await until(() => [...lastAt].every(([id, at]) => (lastDelivery.get(id) ?? -Infinity) >= at));
    });
    await supports.elapse(supports.quietMs);
    const before = deliveries;
    await supports.elapse(supports.quietMs);
    expect(deliveries).to.equal(before);
  });
}
