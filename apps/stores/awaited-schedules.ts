import type { WakeUps } from '../../core/ports/wake-ups.js';

/**
 * Wake-ups whose pending schedules are completed before the stores close. Use cases do not wait for them, and a request
 * that was answered as the process stopped would otherwise leave its generation to recovery.
 */
export class AwaitedSchedules implements WakeUps {
  private readonly underWay = new Set<Promise<void>>();

  constructor(private readonly wakeUps: WakeUps) {}

  schedule(...wakeUp: Parameters<WakeUps['schedule']>): Promise<void> {
    const scheduled = this.wakeUps.schedule(...wakeUp);
    const ended: Promise<void> = scheduled.catch(() => undefined).finally(() => this.underWay.delete(ended));
    this.underWay.add(ended);
    return scheduled;
  }

  start(...delivery: Parameters<WakeUps['start']>): Promise<void> {
    return this.wakeUps.start(...delivery);
  }

  stop(): Promise<void> {
    return this.wakeUps.stop();
  }

  /** Waits for the schedules in progress, each of which its adapter bounds. */
  async close(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }
}
