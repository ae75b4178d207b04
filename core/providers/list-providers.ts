import type { Machine, Models } from '../context.js';
import { isFarAhead } from '../settings.js';
import type { ProviderCapabilities } from '../ports/provider.js';
import { conditionOf, type ProviderCondition } from './provider-state.js';
import type { ProviderHealth, ProviderLimits, ProviderUse } from './provider-use.js';

/** A worker that has not reported for this long, in milliseconds, may be gone. */
const HEARD_FROM_MS = 60_000;

/** One worker's view of a provider, as it was shared last. */
export interface ProviderWorker {
  readonly worker: string;
  readonly health: ProviderHealth;
  /** Its tasks at the provider, and those that wait in it. */
  readonly tasks: number;
  readonly waiting: number;
  /** The tasks that it may have there. */
  readonly slots: number;
  readonly seenAt: number;
  /** Whether it reported within the last minute. Older reports are shown, but not counted. */
  readonly isCurrent: boolean;
}

/** A model whose route has the provider. */
export interface RoutedModel {
  readonly modelKey: string;
  readonly weight: number;
  /** The capabilities for tasks of this model. */
  readonly capabilities: ProviderCapabilities;
}

/** A connected provider, as operators see it. */
export interface ConnectedProvider {
  readonly name: string;
  readonly kind: string;
  readonly limits: ProviderLimits;
  readonly models: readonly RoutedModel[];
  /** The worst that a current worker sees. */
  readonly circuit: ProviderHealth['circuit'];
  /** Its state in words, and why. */
  readonly condition: ProviderCondition;
  /** Summed over the current workers. */
  readonly tasks: number;
  readonly waiting: number;
  /** The newest first. */
  readonly workers: readonly ProviderWorker[];
}

/** All connected providers, in the order of the configuration. Throws `StoreUnavailable`. */
export function listProviders(context: Models & Machine): Promise<readonly ConnectedProvider[]> {
  return Promise.all(context.providers.names().map((name) => connected(context, name)));
}

async function connected(context: Models & Machine, name: string): Promise<ConnectedProvider> {
  const { providers, providerUses, clock } = context;
  const workers = workersOf(await providerUses.read(name), clock.now());
  const current = workers.filter(({ isCurrent }) => isCurrent);
  const limits = providers.limits(name);
  const circuits = current.map(({ health }) => health.circuit);
  return {
    name,
    kind: providers.kind(name) ?? '',
    limits,
    models: modelsAt(context, name),
    circuit: circuits.includes('paused') ? 'paused' : circuits.includes('trying') ? 'trying' : 'closed',
    condition: conditionOf(current, { limits, earlier: workers[0]?.health.lastCallAt, now: clock.now() }),
    tasks: current.reduce((sum, { tasks }) => sum + tasks, 0),
    waiting: current.reduce((sum, { waiting }) => sum + waiting, 0),
    workers,
  };
}

function modelsAt({ catalog, providers }: Models, name: string): readonly RoutedModel[] {
  return catalog.models().flatMap(({ modelKey, route }) => {
    const entry = route.find(({ provider }) => provider === name);
    const capabilities = entry === undefined ? undefined : providers.find(name)?.capabilities(entry.settings);
    return entry === undefined || capabilities === undefined ? [] : [{ modelKey, weight: entry.weight, capabilities }];
  });
}

function workersOf(use: ProviderUse | null, now: number): readonly ProviderWorker[] {
  const { shares = [], idle = [] } = use ?? {};
  const working = shares.map(({ worker, health, inUse, wanted, slots, renewedAt }) => ({
    worker,
    health,
    tasks: inUse,
    waiting: Math.max(0, wanted - inUse),
    slots,
    seenAt: renewedAt,
  }));
  const others = idle.map((one) => ({ ...one, tasks: 0, waiting: 0, slots: 0 }));
  return [...working, ...others]
    .map((one) => ({ ...one, isCurrent: one.seenAt + HEARD_FROM_MS > now && !isFarAhead(one.seenAt, now) }))
    .toSorted((one, other) => other.seenAt - one.seenAt);
}
