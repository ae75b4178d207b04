import type { Clock } from '../../core/ports/clock.js';

/** One task run again and again, an interval after the end of the run before, so that no two overlap. */
export class Repetition {
  private cancelTimer: () => void;
  private underWay: Promise<void> | undefined;
  private stopped = false;

  constructor(private readonly clock: Clock, private readonly intervalMs: number, private readonly task: () => Promise<void>) {
    this.cancelTimer = clock.after(intervalMs, () => this.run());
  }

  /** Lets the run under way end; starts no other. */
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
      // A run that failed is followed by another; what went wrong is the task's to tell.
    }
    this.underWay = undefined;
    if (!this.stopped) this.cancelTimer = this.clock.after(this.intervalMs, () => this.run());
  }
}
