interface Timer {
  readonly run: () => void;
  readonly dueAtMs: number;
}

/**
 * Replaces the timers with one delay, which no other timer of the process uses: their time passes only by `advance`.
 * Restore it after the test.
 */
export class LimitTimers {
  nowMs = 0;
  /** How many have been set. */
  begun = 0;
  private readonly timers = new Map<object, Timer>();

  private constructor(
    private readonly delayMs: number,
    private readonly set: typeof globalThis.setTimeout,
    private readonly clear: typeof globalThis.clearTimeout,
  ) {}

  static replace(delayMs: number): LimitTimers {
    const own = new LimitTimers(delayMs, globalThis.setTimeout, globalThis.clearTimeout);
    const set = (run: () => void, ms?: number, ...rest: []) =>
      ms === own.delayMs ? own.begin(run) : own.set(run, ms, ...rest);
    globalThis.setTimeout = Object.assign(set, own.set);
    globalThis.clearTimeout = ((timer: never) => {
      if (!own.timers.delete(timer)) own.clear(timer);
    }) as never;
    return own;
  }

  restore(): void {
    globalThis.setTimeout = this.set;
    globalThis.clearTimeout = this.clear;
  }

  /** Runs those that are due by then. */
  advance(ms: number): void {
    this.nowMs += ms;
    for (const [timer, { run, dueAtMs }] of this.timers) {
      if (dueAtMs > this.nowMs || !this.timers.delete(timer)) continue;
      run();
    }
  }

  private begin(run: () => void): object {
    const timer = {};
    this.begun += 1;
    this.timers.set(timer, { run, dueAtMs: this.nowMs + this.delayMs });
    return timer;
  }
}
