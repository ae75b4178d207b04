import type { Clock } from '../../core/ports/machine.js';
import { MAX_WAIT_MS } from '../../core/waiting.js';

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
    // A timer of the runtime with a longer delay would fire immediately.
    if (!(delayMs >= 0 && delayMs <= MAX_WAIT_MS))
      throw new RangeError(`A delay is 0 to ${MAX_WAIT_MS} ms, not ${delayMs}.`);
    const timer = setTimeout(callback, delayMs);
    if (!this.#keepsProcessAlive) timer.unref();
    return () => clearTimeout(timer);
  }
}
