// Goal: the checker finds a submission beyond the limits of a provider, and none where a task is over, handed back, or of a
// worker whose share is not kept any more.
// Method: the steps and calls of two workers at one provider, as a run would show them.
import { expect } from 'chai';
import type { Generation } from '../../../core/generation/generation.js';
import type { ProviderReport } from '../../../core/ports/provider.js';
import { aGeneration } from '../../fixtures/stored-records.js';
import { Violation } from '../observed.js';
import { SharesOfProviders } from './shares-of-providers.js';

const CALL_MS = 20_000;
const SHARE_MS = 10_000;
const LONG_STEADY = 1_000_000;

class Shown {
  private readonly checker: SharesOfProviders;
  private version = 0;
  at = LONG_STEADY;

  constructor(
    limits: { readonly maxConcurrent?: number; readonly maxSubmissionsPerMinute?: number },
    isExclusive = false,
  ) {
    this.checker = new SharesOfProviders({ p: limits }, { providerCallMs: CALL_MS }, isExclusive);
    this.renew();
  }

  /** Both workers renew their shares. */
  renew(): void {
    for (const process of ['one', 'two']) {
      this.step(0, { lease: { worker: process, fence: 1, renewedAt: 0, expiresAt: 0, bootId: `boot of ${process}` } });
      const shares = [{ worker: `boot of ${process}`, renewedAt: this.at }];
      const use = { provider: 'p', version: (this.version += 1), shares };
      const by = { at: this.at, process, processNow: this.at };
      void this.checker.handlers['providerUses.replace']?.({ ...by, args: [use, 0], result: 'applied' } as never);
    }
  }

  submit(number: number, process = 'one', at = this.at): void {
    this.at = at;
    this.checker.calling({
      at,
      process,
      call: 'provider.submit',
      args: [{ token: `t${number}`, settings: { of: 'p' } }],
    });
  }

  step(number: number, changes: Partial<Generation>, event = 'renew', process = 'one'): void {
    const attempt = { number: 1, phase: 'submitted', token: `t${number}`, startedAt: 0 } as const;
    const before: Generation = { ...aGeneration(1), status: 'running', attempt };
    const next = { ...before, ...changes };
    this.checker.stepped({ before, next, event, by: { at: this.at, process, processNow: this.at } });
  }

  poll(number: number, state: ProviderReport['state']): void {
    this.checker.taken({ token: `t${number}` }, `r${number}`);
    void this.checker.handlers['provider.poll']?.({ args: [`r${number}`], result: { state } } as never);
  }
}

const finds = (shown: Shown, act: () => void) => expect(act, String(shown.at)).to.throw(Violation, 'Invariant 25');

describe('the checker of shares', () => {
  it('finds one task more than the limit, whichever worker submits it', () => {
    for (const process of ['one', 'two']) {
      const shown = new Shown({ maxConcurrent: 2 });
      shown.submit(1);
      shown.submit(2, 'two');
      finds(shown, () => shown.submit(3, process));
    }
  });

  it('counts a task that is submitted again once', () => {
    const shown = new Shown({ maxConcurrent: 1 });
    shown.submit(1);
    shown.submit(1, 'two');
  });

  for (const [why, changes, event] of [
    ['its generation has ended', { status: 'failed' }, 'fail'],
    ['its attempt is over', { attempt: { number: 2, phase: 'submitting', token: 'other', startedAt: 0 } }, 'retry'],
    [
      'what it delivered is on record',
      { attempt: { number: 1, phase: 'submitted', token: 't2', startedAt: 0, delivered: [] } },
      'accepted',
    ],
    ['its worker hands it back', {}, 'yield'],
  ] as const) {
    it(`counts no task once ${why}`, () => {
      const shown = new Shown({ maxConcurrent: 1 });
      shown.submit(1);
      shown.step(1, {}, 'yield', 'two');
      finds(shown, () => shown.submit(2));
      shown.step(2, changes, event);
      shown.step(1, changes, event);
      shown.submit(3);
    });
  }

  it('counts no task that its provider said has ended', () => {
    const shown = new Shown({ maxConcurrent: 1 });
    shown.submit(1);
    shown.poll(1, 'running');
    finds(shown, () => shown.submit(2));
    shown.poll(1, 'succeeded');
    shown.poll(2, 'failed');
    shown.submit(3);
  });

  it('counts the task of a worker that is gone for as long as its share is kept', () => {
    const shown = new Shown({ maxConcurrent: 1 });
    shown.submit(1);
    const { at } = shown;
    finds(shown, () => shown.submit(2, 'two', at + SHARE_MS + CALL_MS - 1));
    shown.step(2, { status: 'failed' }, 'fail', 'two');
    shown.submit(3, 'two', at + SHARE_MS + CALL_MS);
  });

  it('counts the task of a process that has ended until it is over, where the stores are exclusive', () => {
    const shown = new Shown({ maxConcurrent: 1 }, true);
    shown.submit(1);
    shown.step(1, {}, 'yield');
    finds(shown, () => shown.submit(2, 'two', shown.at + 10 * (SHARE_MS + CALL_MS)));
    shown.step(2, { status: 'failed' }, 'fail', 'two');
    shown.poll(1, 'failed');
    shown.submit(3, 'two');
  });

  it('finds one submission more than the limit in any minute', () => {
    const shown = new Shown({ maxSubmissionsPerMinute: 2 });
    shown.submit(1);
    shown.submit(2, 'two', shown.at + 30_000);
    finds(shown, () => shown.submit(3, 'one', shown.at + 29_999));
    const later = new Shown({ maxSubmissionsPerMinute: 2 });
    later.submit(1);
    later.submit(2, 'two', later.at + 30_000);
    later.submit(3, 'one', later.at + 30_000);
  });
});
