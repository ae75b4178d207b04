import type { Clock } from './ports/machine.js';

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
