import { Registry } from 'prom-client';
import type { Ports } from '../../core/ports/ports.js';
import { RecoveryPasses, WakeUpDeliveries, WorkerLoad } from './background-work.js';
import { observedStores, type StoreObserver } from './observed-calls.js';
import { ProcessUse, Warnings } from './process-use.js';
import { ProviderCalls, ProviderGateUse } from './provider-calls.js';
import { BoundRefusals, GrpcCalls, HttpRequests } from './requests.js';
import { ObjectBytes, StoreCalls } from './store-calls.js';
import { GenerationWrites, LedgerWrites } from './writes.js';

/**
 * Everything one process measures of itself, in its own registry. Labels come from bounded sets: no id of an account,
 * App, key or generation is ever one of them.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly bounds = new BoundRefusals(this.registry);
  readonly http = new HttpRequests(this.registry, this.bounds);
  readonly grpc = new GrpcCalls(this.registry, this.bounds);
  readonly stores = new StoreCalls(this.registry);
  readonly ledgers = new LedgerWrites(this.registry);
  readonly generations = new GenerationWrites(this.registry);
  readonly objects = new ObjectBytes(this.registry);
  readonly providers = new ProviderCalls(this.registry);
  readonly gates = new ProviderGateUse(this.registry);
  readonly wakeUps = new WakeUpDeliveries(this.registry);
  readonly worker = new WorkerLoad(this.registry);
  readonly recovery = new RecoveryPasses(this.registry);
  readonly warnings = new Warnings(this.registry);
  readonly process = new ProcessUse(this.registry);

  get contentType(): string {
    return this.registry.contentType;
  }

  /** All of it, as a scraper reads it. */
  text(): Promise<string> {
    return this.registry.metrics();
  }
}

/** The same ports, with the calls of the stores and providers measured, and those of the stores reported to `outages`. */
export function observedPorts(ports: Ports, metrics: Metrics | undefined, outages?: StoreObserver): Ports {
  const observers = outages === undefined ? [] : [outages];
  if (metrics === undefined) return observedStores(ports, observers);
  const { stores, ledgers, generations, objects, wakeUps, providers } = metrics;
  const measuring = stores.observer({
    accounts: ledgers.learn,
    generations: generations.learnWith(ports),
    acceptances: {
      accept: (answer, [{ change, generations: accepted }]) => {
        if (answer.outcome !== 'accepted') return;
        ledgers.count(change);
        generations.countAccepted(ports, accepted, answer.existing);
      },
    },
    objects: objects.learn,
  });
  const observed = observedStores(ports, [...observers, measuring]);
  return {
    ...observed,
    objects: { ...observed.objects, ...objects.counted(observed.objects) },
    wakeUps: wakeUps.counted(observed.wakeUps),
    providers: providers.measured(ports.providers),
  };
}
