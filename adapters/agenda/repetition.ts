import type { Clock } from '../../core/ports/clock.js';

/** One task of this process, run again an interval after each run has ended, so that no two overlap. */
export class Repetition {
  private cancelTimer: () => void = () => undefined;
  private underWay: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(private readonly clock: Clock, private readonly intervalMs: number, private readonly task: () => Promise<void>) {
    this.arm();
  }

  /** Lets the run under way end; starts no other. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.cancelTimer();
    await this.underWay;
  }

  private arm(): void {
    if (this.stopped) return;
    this.cancelTimer = this.clock.after(this.intervalMs, () => { this.underWay = this.run(); });
  }

  private async run(): Promise<void> {
    try {
      await this.task();
    } catch {
      // What went wrong is the task's to tell; the next run comes all the same.
    }
    this.arm();
  }
}
