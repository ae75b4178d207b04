// Goal: every clock returns whole milliseconds, and calls back once or, if cancelled, not at all.
// Method: short timers observed through promises; a manual clock is moved by `supports.elapse`.
import { expect } from 'chai';
import type { Clock } from '../../core/ports/machine.js';
import { contract, type ContractSubject } from './subject.js';

export interface ClockSupports {
  /** Moves a manual clock. */
  readonly elapse?: (clock: Clock, ms: number) => Promise<void>;
}

export function clockContract(subject: ContractSubject<Clock, ClockSupports>): void {
  contract('Clock contract', subject, (clock) => {
    async function afterDelay(delayMs: number): Promise<void> {
      const fired = new Promise<void>((resolve) => {
        clock().after(delayMs, resolve);
      });
      await subject.supports.elapse?.(clock(), delayMs);
      await fired;
    }

    it('returns whole milliseconds', () => {
      expect(clock().now()).to.satisfy(Number.isSafeInteger).and.to.be.at.least(0);
    });

    it('refuses a delay beyond its limit', () => {
      for (const delayMs of [-1, 2 ** 31, Number.NaN, Number.POSITIVE_INFINITY]) {
        expect(() => clock().after(delayMs, () => undefined), String(delayMs)).to.throw(RangeError);
      }
    });

    it('accepts the longest required delay', () => {
      let called = false;
      const cancel = clock().after(2 ** 31 - 1, () => {
        called = true;
      });
      cancel();
      expect(called).to.equal(false);
    });

    it('does not call back once cancelled, and cancelling twice or late has no effect', async () => {
      let calls = 0;
      const cancel = clock().after(1, () => {
        calls += 1;
      });
      cancel();
      cancel();
      await afterDelay(20);
      expect(calls).to.equal(0);
      const late = clock().after(0, () => {
        calls += 1;
      });
      await afterDelay(10);
      late();
      expect(calls).to.equal(1);
    });

    it('calls back exactly once, never from inside after()', async () => {
      let calls = 0;
      clock().after(0, () => {
        calls += 1;
      });
      expect(calls).to.equal(0);
      await afterDelay(5);
      await afterDelay(5);
      expect(calls).to.equal(1);
    });

    it('has a monotonic clock in whole milliseconds that advances while its delays pass', async () => {
      const before = clock().monotonic();
      expect(before).to.satisfy(Number.isSafeInteger);
      for (let delays = 0; clock().monotonic() - before < 20; delays += 1) {
        expect(delays).to.be.below(100);
        await afterDelay(20);
      }
    });

    it('advances while its delays pass', async () => {
      const before = clock().now();
      // Timers and the wall clock are two clocks of the machine, which may drift apart: a hundred delays are far more
      // than one.
      for (let delays = 0; clock().now() - before < 20; delays += 1) {
        expect(delays).to.be.below(100);
        await afterDelay(20);
      }
    });
  });
}
