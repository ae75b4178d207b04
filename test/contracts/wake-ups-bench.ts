import type { WakeUps } from '../../core/ports/wake-ups.js';

export interface WakeUpsSupports {
  /** The time the wake-ups go by. */
  readonly now: () => number;
  /** Lets time pass: moves a clock that stands still, or waits. */
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
