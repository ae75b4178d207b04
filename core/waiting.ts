import type { Clock } from './ports/machine.js';

/** The longest single wait of a clock, in milliseconds. */
export const MAX_WAIT_MS = 2 ** 31 - 1;

export function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve);
  });
}

/** Lets other work of the process run. */
export type Yield = () => Promise<void>;

const AT_ONCE = 500;

/** The same items; yields to other work after every 500 of them. */
export async function* withYields<T>(items: Iterable<T>, yieldNow: Yield): AsyncGenerator<T> {
  let left = AT_ONCE;
  for (const item of items) {
    yield item;
    left -= 1;
    if (left > 0) continue;
    await yieldNow();
    left = AT_ONCE;
  }
}

/** A sleep that can be ended early. A wake without a sleeper ends the next sleep at once. */
export class WakeableDelay {
  private isWoken = false;
  private finish: (() => void) | undefined;

  constructor(private readonly clock: Clock) {}

  wake(): void {
    this.isWoken = true;
    this.finish?.();
  }

  async sleep(durationMs: number): Promise<void> {
    if (!this.isWoken) {
      await new Promise<void>((resolve) => {
        const cancel = this.clock.after(Math.min(durationMs, MAX_WAIT_MS), resolve);
        this.finish = () => {
          cancel();
          resolve();
        };
      });
    }
    this.finish = undefined;
    this.isWoken = false;
  }
}

/**
 * A repeated task of this process. The next run begins an interval after the end of the one before, so runs never
 * overlap. A run that fails is followed by another; the task itself reports the failure.
 */
export class Repetition {
  private cancelTimer: () => void;
  private underWay: Promise<void> | undefined;
  private stopped = false;

  constructor(
    private readonly clock: Pick<Clock, 'after'>,
    private readonly intervalMs: number,
    private readonly task: () => Promise<void>,
  ) {
    this.cancelTimer = clock.after(intervalMs, () => this.run());
  }

  /** Waits for the run in progress to end and starts no other. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.cancelTimer();
    await this.underWay;
  }

  private run(): void {
    this.underWay = this.runOnce();
  }

  private async runOnce(): Promise<void> {
    try {
      await this.task();
    } catch {
      // Reported by the task.
    }
    this.underWay = undefined;
    if (!this.stopped) this.cancelTimer = this.clock.after(this.intervalMs, () => this.run());
  }
}

/** A value that costs some work and may be a little old. Concurrent callers share one making of it. */
export class Remembered<T> {
  private made: { readonly at: number; readonly value: Promise<T> } | undefined;

  constructor(
    private readonly clock: Pick<Clock, 'monotonic'>,
    private readonly keptMs: number,
  ) {}

  /** The value, made again if it is older than `keptMs`. A failure is not remembered. */
  get(make: () => Promise<T>): Promise<T> {
    const now = this.clock.monotonic();
    if (this.made === undefined || now - this.made.at >= this.keptMs) {
      const made = { at: now, value: make() };
      this.made = made;
      made.value.catch(() => {
        if (this.made === made) this.made = undefined;
      });
    }
    return this.made.value;
  }
}
