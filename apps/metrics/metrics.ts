import { Registry } from 'prom-client';
import type { Ports } from '../../core/ports/ports.js';
import { recoveryPasses, wakeUpDeliveries, workerLoad } from './background-work.js';
import { instrumentsOf } from './instruments.js';
import { openGenerations } from './open-generations.js';
import { observedStores, type StoreObserver } from './observed-calls.js';
import { processUse, warnings } from './process-use.js';
import { providerCalls, providerGateUse } from './provider-calls.js';
import { boundRefusals, grpcCalls, httpRequests } from './requests.js';
import { objectBytes, storeCalls } from './store-calls.js';
import { generationWrites, ledgerWrites } from './writes.js';

/**
 * Everything one process measures of itself, in its own registry. Labels come from bounded sets: no id of an account,
 * App, key or generation is ever one of them.
 */
export class Metrics {
  readonly registry = new Registry();
  private readonly instruments = instrumentsOf(this.registry);
  private readonly noteBound = boundRefusals(this.instruments);
  readonly http = httpRequests(this.instruments, this.noteBound);
  readonly grpc = grpcCalls(this.instruments, this.noteBound);
  readonly stores = storeCalls(this.instruments);
  readonly ledgers = ledgerWrites(this.instruments);
  readonly generations = generationWrites(this.instruments);
  readonly openGenerations = openGenerations(this.instruments);
  readonly objects = objectBytes(this.instruments);
  readonly providers = providerCalls(this.instruments);
  readonly gates = providerGateUse(this.instruments);
  readonly wakeUps = wakeUpDeliveries(this.instruments);
  readonly worker = workerLoad(this.instruments);
  readonly recovery = recoveryPasses(this.instruments);
  readonly warnings = warnings(this.instruments);
  readonly process = processUse(this.instruments);

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
