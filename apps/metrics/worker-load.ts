import { Gauge, type Registry } from 'prom-client';

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
