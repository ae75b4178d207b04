import { Counter, type Registry } from 'prom-client';
import type { Log } from '../../core/log.js';

/** Events are constants of the program; should one ever not be, it must not grow the label without bound. */
const MAX_EVENTS = 100;

/** The warnings of the log, counted by event: what recovery will do again, by how often that is needed. */
export class Warnings {
  private readonly warnings: Counter<'event'>;
  private readonly events = new Set<string>();

  constructor(registry: Registry) {
    this.warnings = new Counter({
      name: 'darkroom_warnings_total',
      help: 'Warnings in the log, by event.',
      labelNames: ['event'],
      registers: [registry],
    });
  }

  /** The same log, its warnings counted. */
  counted(log: Log): Log {
    return {
      info: (event, about) => log.info(event, about),
      warn: (event, about) => {
        this.warnings.inc({ event: this.bounded(event) });
        log.warn(event, about);
      },
    };
  }

  private bounded(event: string): string {
    if (!this.events.has(event) && this.events.size >= MAX_EVENTS) return 'other';
    this.events.add(event);
    return event;
  }
}
