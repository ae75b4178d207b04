import type { Models } from '../../core/context.js';
import { TASK_ERRORS } from '../../core/generation/generation.js';
import { hintsOf, type Provider, type ProviderFailure, type Providers } from '../../core/ports/provider.js';
import type { SeenProvider } from '../../core/providers/provider-gates.js';
import type { Instruments } from './instruments.js';
import { observedCalls } from './observed-calls.js';

/** `capabilities` and `acceptanceDelayMs` call no server, and only an operator calls `check`. */
const IS_MEASURED: Readonly<Record<keyof Provider, boolean>> = {
  capabilities: false,
  submit: true,
  poll: true,
  output: true,
  cancel: true,
  recover: true,
  check: false,
  acceptanceDelayMs: false,
};
const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** How the connected providers answer. */
export function providerCalls({ counter, gauge, preparedHistogram }: Instruments) {
  const durations = preparedHistogram(
    'darkroom_provider_call_duration_seconds',
    'Time of calls to the providers, failed ones included.',
    SECONDS,
    ['provider', 'method'],
  );
  const failures = counter(
    'darkroom_provider_failures_total',
    'Calls that a provider did not answer: their outcome is unknown.',
    ['provider', 'method'],
  );
  const refusals = counter(
    'darkroom_provider_refusals_total',
    'Tasks that a provider refused or reported as failed, by error code; a generation may be tried again.',
    ['provider', 'code'],
  );
  const capacityRefusals = counter(
    'darkroom_provider_capacity_refusals_total',
    'Tasks that a provider refused because it is full, limits the rate or is down; they wait.',
    ['provider'],
  );
  const unknownStatuses = counter(
    'darkroom_provider_unknown_statuses_total',
    'Reports of tasks with a status that is not known; the tasks count as running.',
    ['provider'],
  );
  const accessRefusals = counter(
    'darkroom_provider_access_refusals_total',
    'Calls about tasks for which the provider refused the credential; they are repeated.',
    ['provider', 'method'],
  );
  const underWay = gauge(
    'darkroom_provider_calls_in_flight',
    'Calls that a provider has not answered yet, abandoned ones included.',
    ['provider'],
  );
  /** An adapter from elsewhere may give codes that the catalogue does not have. */
  const countAnswer = (provider: string, answer: Answer): void => {
    if (hasUnknownStatus(answer)) unknownStatuses.inc({ provider });
    if (isForCapacity(answer)) capacityRefusals.inc({ provider });
    const failure = failureIn(answer);
    if (failure) refusals.inc({ provider, code: Object.hasOwn(TASK_ERRORS, failure.code) ? failure.code : 'unknown' });
  };
  const measuredProvider = (name: string, provider: Provider): Provider => {
    const ownUnderWay = underWay.labels(name);
    ownUnderWay.set(0);
    capacityRefusals.inc({ provider: name }, 0);
    unknownStatuses.inc({ provider: name }, 0);
    return observedCalls(provider, (method) => {
      if (!IS_MEASURED[method as keyof Provider]) return [];
      const labels = { provider: name, method };
      failures.inc(labels, 0);
      accessRefusals.inc(labels, 0);
      const observe = durations.prepare(labels);
      return [
        {
          started: () => ownUnderWay.inc(),
          answered: (answer) => countAnswer(name, answer as Answer),
          failed: (error) => {
            failures.inc(labels);
            if (hintsOf(error).isAccessRefused === true) accessRefusals.inc(labels);
          },
          ended: (seconds) => {
            ownUnderWay.dec();
            observe(seconds);
          },
        },
      ];
    });
  };
  return { measured: (providers: Providers) => measuredProviders(providers, measuredProvider) };
}

/** The same providers, each one's calls measured. Only names that are connected become labels. */
function measuredProviders(
  providers: Providers,
  measuredProvider: (name: string, provider: Provider) => Provider,
): Providers {
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
      const measured = measuredProvider(name, provider);
      known.set(name, { provider, measured });
      return measured;
    },
  };
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
  return 'state' in answer && answer.state === 'failed' ? answer.failure : undefined;
}

const CIRCUITS: Readonly<Record<SeenProvider['circuit'], number>> = { closed: 0, trying: 1, paused: 2 };

/** The tasks that the worker of this process has at each connected provider, and whether it submits there. */
export function providerGateUse(instruments: Instruments) {
  let watched: Pick<Models, 'providers' | 'providerGates'> | undefined;
  const gauge = (name: string, help: string, collect?: () => void) =>
    instruments.gauge(`darkroom_provider_${name}`, help, ['provider'], collect);
  const circuits = gauge('circuit', '0 closed, 1 trying one task, 2 paused.', () => {
    const { providers, providerGates } = watched ?? {};
    const connected = providers?.names() ?? [];
    for (const { provider, circuit, tasks, waiting, slots } of providerGates?.seen ?? []) {
      // A task may be at a provider that is no longer configured: no name of that kind becomes a label.
      if (!connected.includes(provider)) continue;
      const maxConcurrent = providers?.limits(provider).maxConcurrent;
      const labels = { provider };
      circuits.set(labels, CIRCUITS[circuit]);
      tasksThere.set(labels, tasks);
      waitingFor.set(labels, waiting);
      if (slots !== undefined) slotsHeld.set(labels, slots);
      if (maxConcurrent !== undefined) limits.set(labels, maxConcurrent);
    }
  });
  const tasksThere = gauge('tasks', 'Tasks that this process has at the provider.');
  const waitingFor = gauge('waiting', 'Generations that wait in this process for the provider.');
  const slotsHeld = gauge('slots', 'Tasks that this process may have at a provider with a limit.');
  const limits = gauge('slots_limit', 'Tasks that all processes together may have at the provider.');
  return {
    /** Asked at every scrape from now on. */
    watch: (context: Pick<Models, 'providers' | 'providerGates'>): void => void (watched = context),
  };
}
