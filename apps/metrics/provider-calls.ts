import { Counter, Gauge, type Registry } from 'prom-client';
import type { Context } from '../../core/context.js';
import { TASK_ERRORS } from '../../core/generation/generation.js';
import {
  hintsOf,
  type Provider,
  type ProviderFailure,
  type ProviderReport,
  type Providers,
} from '../../core/ports/provider.js';
import type { SeenProvider } from '../../core/providers/provider-gates.js';
import { observedCalls } from './observed-calls.js';
import { PreparedHistogram } from './prepared-histogram.js';

/** `capabilities` calls no server, and only an operator calls `check`. */
const IS_MEASURED: Readonly<Record<keyof Provider, boolean>> = {
  capabilities: false,
  submit: true,
  poll: true,
  output: true,
  cancel: true,
  recover: true,
  check: false,
};
const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** How the connected providers answer. */
export class ProviderCalls {
  private readonly durations: PreparedHistogram<'provider' | 'method'>;
  private readonly failures: Counter<'provider' | 'method'>;
  private readonly refusals: Counter<'provider' | 'code'>;
  private readonly capacityRefusals: Counter<'provider'>;
  private readonly unknownStatuses: Counter<'provider'>;
  private readonly accessRefusals: Counter<'provider' | 'method'>;
  private readonly underWay: Gauge<'provider'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.durations = new PreparedHistogram({
      name: 'darkroom_provider_call_duration_seconds',
      help: 'Time of calls to the providers, failed ones included.',
      labelNames: ['provider', 'method'],
      buckets: SECONDS,
      registers,
    });
    this.failures = new Counter({
      name: 'darkroom_provider_failures_total',
      help: 'Calls that a provider did not answer: their outcome is unknown.',
      labelNames: ['provider', 'method'],
      registers,
    });
    this.refusals = new Counter({
      name: 'darkroom_provider_refusals_total',
      help: 'Tasks that a provider refused or reported as failed, by error code; a generation may be tried again.',
      labelNames: ['provider', 'code'],
      registers,
    });
    this.capacityRefusals = new Counter({
      name: 'darkroom_provider_capacity_refusals_total',
      help: 'Tasks that a provider refused because it is full, limits the rate or is down; they wait.',
      labelNames: ['provider'],
      registers,
    });
    this.unknownStatuses = new Counter({
      name: 'darkroom_provider_unknown_statuses_total',
      help: 'Reports of tasks with a status that is not known; the tasks count as running.',
      labelNames: ['provider'],
      registers,
    });
    this.accessRefusals = new Counter({
      name: 'darkroom_provider_access_refusals_total',
      help: 'Calls about tasks for which the provider refused the credential; they are repeated.',
      labelNames: ['provider', 'method'],
      registers,
    });
    this.underWay = new Gauge({
      name: 'darkroom_provider_calls_in_flight',
      help: 'Calls that a provider has not answered yet, abandoned ones included.',
      labelNames: ['provider'],
      registers,
    });
  }

  /** The same providers, each one's calls measured. Only names that are connected become labels. */
  measured(providers: Providers): Providers {
    const known = new Map<string, { readonly provider: Provider; readonly measured: Provider }>();
    return {
      kind: (name) => providers.kind(name),
      limits: (name) => providers.limits(name),
      names: () => providers.names(),
      find: (name) => {
        const provider = providers.find(name);
        if (provider === undefined) return undefined;
        const before = known.get(name);
        if (before?.provider === provider) return before.measured;
        const measured = this.measuredProvider(name, provider);
        known.set(name, { provider, measured });
        return measured;
      },
    };
  }

  private measuredProvider(name: string, provider: Provider): Provider {
    const underWay = this.underWay.labels(name);
    underWay.set(0);
    this.capacityRefusals.inc({ provider: name }, 0);
    this.unknownStatuses.inc({ provider: name }, 0);
    return observedCalls(provider, (method) => {
      if (!IS_MEASURED[method as keyof Provider]) return [];
      const labels = { provider: name, method };
      this.failures.inc(labels, 0);
      this.accessRefusals.inc(labels, 0);
      const observe = this.durations.prepare(labels);
      return [
        {
          started: () => underWay.inc(),
          answered: (answer) => this.countAnswer(name, answer as Answer),
          failed: (error) => {
            this.failures.inc(labels);
            if (hintsOf(error).isAccessRefused === true) this.accessRefusals.inc(labels);
          },
          ended: (seconds) => {
            underWay.dec();
            observe(seconds);
          },
        },
      ];
    });
  }

  /** An adapter from elsewhere may give codes that the catalogue does not have. */
  private countAnswer(provider: string, answer: Answer): void {
    if (hasUnknownStatus(answer)) this.unknownStatuses.inc({ provider });
    if (isForCapacity(answer)) this.capacityRefusals.inc({ provider });
    const failure = failureIn(answer);
    if (failure)
      this.refusals.inc({ provider, code: Object.hasOwn(TASK_ERRORS, failure.code) ? failure.code : 'unknown' });
  }
}

type Answer = Awaited<ReturnType<Provider['submit' | 'poll' | 'output' | 'cancel' | 'recover']>>;

function hasUnknownStatus(answer: Answer): boolean {
  return (
    typeof answer === 'object' && 'state' in answer && answer.state === 'running' && answer.unknownStatus !== undefined
  );
}

function isForCapacity(answer: Answer): boolean {
  return typeof answer === 'object' && 'accepted' in answer && !answer.accepted && answer.because === 'capacity';
}

function failureIn(answer: Answer): ProviderFailure | undefined {
  if (typeof answer !== 'object') return undefined;
  if ('accepted' in answer) return answer.accepted ? undefined : answer.failure;
  return 'state' in answer ? failureOf(answer) : undefined;
}

function failureOf(report: ProviderReport): ProviderFailure | undefined {
  return report.state === 'failed' ? report.failure : undefined;
}

const CIRCUITS: Readonly<Record<SeenProvider['circuit'], number>> = { closed: 0, trying: 1, paused: 2 };

/** The tasks that the worker of this process has at each connected provider, and whether it submits there. */
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
