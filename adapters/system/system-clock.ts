import type { Clock } from '../../core/ports/clock.js';

/** The longest delay a timer of the runtime can carry; past it the timer would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** The machine's clock and timers. */
export class SystemClock implements Clock {
  readonly #keepsProcessAlive: boolean;

  /** `keepsProcessAlive` (default true) says whether a timer under way keeps the process from ending by itself. */
  constructor(options: { readonly keepsProcessAlive?: boolean } = {}) {
    this.#keepsProcessAlive = options.keepsProcessAlive ?? true;
  }

  now(): number {
    return Date.now();
  }

  after(delayMs: number, callback: () => void): () => void {
    if (!(delayMs >= 0 && delayMs <= MAX_DELAY_MS))
      throw new RangeError(`A delay is 0 to ${MAX_DELAY_MS} ms, not ${delayMs}.`);
    const timer = setTimeout(callback, delayMs);
    if (!this.#keepsProcessAlive) timer.unref();
    return () => clearTimeout(timer);
  }
}
