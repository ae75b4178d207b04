import { Counter, Gauge, type Registry } from 'prom-client';
import type { WakeUps } from '../../core/ports/wake-ups.js';

/** The wake-ups that reach this process. */
export class WakeUpDeliveries {
  private readonly delivered: Counter<'outcome'>;
  private readonly underWay: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    this.delivered = new Counter({
      name: 'darkroom_wake_ups_delivered_total',
      help: 'Wake-ups delivered to this process, by whether they are done or will be delivered again.',
      labelNames: ['outcome'],
      registers,
    });
    this.underWay = new Gauge({
      name: 'darkroom_wake_ups_in_flight',
      help: 'Wake-ups delivered and not done: most of them wait for a place in the queue of their model.',
      registers,
    });
    for (const outcome of ['done', 'failed']) this.delivered.inc({ outcome }, 0);
  }

  /** The same wake-ups, each delivery counted; `schedule` is used in place of theirs. */
  counted(wakeUps: WakeUps, { schedule }: Pick<WakeUps, 'schedule'>): WakeUps {
    return {
      schedule,
      start: (handler, limit) => wakeUps.start((subject) => this.deliver(handler(subject)), limit),
      stop: () => wakeUps.stop(),
    };
  }

  private async deliver(handled: Promise<void>): Promise<void> {
    this.underWay.inc();
    let outcome = 'failed';
    try {
      await handled;
      outcome = 'done';
    } finally {
      this.underWay.dec();
      this.delivered.inc({ outcome });
    }
  }
}
