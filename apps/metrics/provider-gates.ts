import { Gauge, type Registry } from 'prom-client';
import type { Context } from '../../core/context.js';
import type { SeenProvider } from '../../core/providers/provider-gates.js';

const CIRCUITS: Readonly<Record<SeenProvider['circuit'], number>> = { closed: 0, trying: 1, paused: 2 };

/** What the worker of this process has at each connected provider, and whether it submits there. */
export class ProviderGateUse {
  private readonly circuits: Gauge<'provider'>;
  private readonly tasks: Gauge<'provider'>;
  private readonly waiting: Gauge<'provider'>;
  private readonly slots: Gauge<'provider'>;
  private readonly limits: Gauge<'provider'>;
  private context: Pick<Context, 'providers' | 'providerGates'> | undefined;

  constructor(registry: Registry) {
    const gauge = (name: string, help: string, collect?: () => void) =>
      new Gauge({
        name: `darkroom_provider_${name}`,
        help,
        labelNames: ['provider'],
        registers: [registry],
        ...(collect ? { collect } : {}),
      });
    this.circuits = gauge('circuit', '0 closed, 1 trying one task, 2 paused.', () => this.collect());
    this.tasks = gauge('tasks', 'Tasks that this process has at the provider.');
    this.waiting = gauge('waiting', 'Generations that wait in this process for the provider.');
    this.slots = gauge('slots', 'Tasks that this process may have at a provider with a limit.');
    this.limits = gauge('slots_limit', 'Tasks that all processes together may have at the provider.');
  }

  /** Asked at every scrape from now on. */
  watch(context: Pick<Context, 'providers' | 'providerGates'>): void {
    this.context = context;
  }

  private collect(): void {
    const { providers, providerGates } = this.context ?? {};
    const connected = providers?.names() ?? [];
    for (const { provider, circuit, tasks, waiting, slots } of providerGates?.seen ?? []) {
      // A task may be at a provider that is no longer configured: no name of that kind becomes a label.
      if (!connected.includes(provider)) continue;
      const maxConcurrent = providers?.limits(provider).maxConcurrent;
      const labels = { provider };
      this.circuits.set(labels, CIRCUITS[circuit]);
      this.tasks.set(labels, tasks);
      this.waiting.set(labels, waiting);
      if (slots !== undefined) this.slots.set(labels, slots);
      if (maxConcurrent !== undefined) this.limits.set(labels, maxConcurrent);
    }
  }
}
