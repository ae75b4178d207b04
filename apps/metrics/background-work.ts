import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { WakeUps } from '../../core/ports/wake-ups.js';
import { NOTHING, type Recovered } from '../../core/recovery/recover.js';

/** The findings of recovery in this process, and whether it keeps up. */
export class RecoveryPasses {
  private readonly durations: Histogram;
  private readonly full: Counter;
  private readonly lastEndedAt: Gauge;
  private readonly found: Counter<'kind' | 'outcome'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.durations = new Histogram({
      name: 'darkroom_recovery_pass_duration_seconds',
      help: 'Duration of completed recovery passes.',
      buckets: SECONDS,
      registers,
    });
    this.full = new Counter({
      name: 'darkroom_recovery_full_passes_total',
      help: 'Recovery passes that reached their limit and left more to do.',
      registers,
    });
    this.lastEndedAt = new Gauge({
      name: 'darkroom_recovery_last_pass_timestamp_seconds',
      help: 'When the last recovery pass was completed; 0 before the first.',
      registers,
    });
    this.found = new Counter({
      name: 'darkroom_recovery_found_total',
      help: 'What recovery found, and what it did about it.',
      labelNames: ['kind', 'outcome'],
      registers,
    });
    // Shows every kind from the first scrape on, so that the first one found is a change.
    this.count(NOTHING);
  }

  /** One pass was completed. */
  passed(
    recovered: Recovered,
    { durationMs, isFull }: { readonly durationMs: number; readonly isFull: boolean },
  ): void {
    this.durations.observe(durationMs / 1_000);
    if (isFull) this.full.inc();
    this.lastEndedAt.setToCurrentTime();
    this.count(recovered);
  }

  private count({ generations, holds, uploads, deliveries, claimsRemoved, artefactsRemoved }: Recovered): void {
    const { nextCursor: _nextCursor, ...heldOutcomes } = holds;
    const kinds = {
      generation: generations,
      hold: heldOutcomes,
      upload: uploads,
      delivery: deliveries,
      claim: { removed: claimsRemoved },
      artefact: { removed: artefactsRemoved },
    };
    for (const [kind, outcomes] of Object.entries(kinds)) {
      for (const [outcome, count] of Object.entries(outcomes) as [string, number][])
        this.found.inc({ kind, outcome }, count);
    }
  }
}

const SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300];

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

  /** The same wake-ups, each delivery counted. */
  counted(wakeUps: WakeUps): WakeUps {
    return {
      ...wakeUps,
      start: (handler, limit) => wakeUps.start((subject) => this.deliver(handler(subject)), limit),
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

export type WorkerCounts = () => { readonly running: number; readonly waiting: number };

/** How much the worker of this process has taken on. A process without one has none of it. */
export class WorkerLoad {
  private readonly generations: Gauge<'state'>;
  private counts: WorkerCounts | undefined;

  constructor(registry: Registry) {
    this.generations = new Gauge({
      name: 'darkroom_worker_generations',
      help: 'Generations this process runs, and those that wait in it for a place.',
      labelNames: ['state'],
      registers: [registry],
      collect: () => this.collect(),
    });
  }

  /** Asked at every scrape from now on. */
  watch(counts: WorkerCounts): void {
    this.counts = counts;
  }

  private collect(): void {
    const counts = this.counts?.();
    for (const state of ['running', 'waiting'] as const) this.generations.set({ state }, counts?.[state] ?? 0);
  }
}
