import type { Clock } from '../../core/ports/machine.js';

/** The longest delay of a runtime timer; beyond it the timer would fire immediately. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** The machine's clock and timers. */
export class SystemClock implements Clock {
  readonly #keepsProcessAlive: boolean;

  /** `keepsProcessAlive` (default true) says whether a pending timer keeps the process from ending by itself. */
  constructor(options: { readonly keepsProcessAlive?: boolean } = {}) {
    this.#keepsProcessAlive = options.keepsProcessAlive ?? true;
  }

  now(): number {
    return Date.now();
  }

  monotonic(): number {
    return Math.floor(performance.now());
  }

  after(delayMs: number, callback: () => void): () => void {
    if (!(delayMs >= 0 && delayMs <= MAX_DELAY_MS))
      throw new RangeError(`A delay is 0 to ${MAX_DELAY_MS} ms, not ${delayMs}.`);
    const timer = setTimeout(callback, delayMs);
    if (!this.#keepsProcessAlive) timer.unref();
    return () => clearTimeout(timer);
  }
}
