import { Registry } from 'prom-client';
import type { Ports } from '../../core/ports/tokens.js';
import { RecoveryPasses, WakeUpDeliveries, WorkerLoad } from './background-work.js';
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

/**
 * The same ports, what passes through them measured. Those that neither wait for anything nor fail stay as they are.
 */
export function measuredPorts(
  ports: Ports,
  { stores, ledgers, generations, objects, wakeUps, providers }: Metrics,
): Ports {
  const measuredObjects = stores.measured('objects', ports.objects, objects.learn);
  return {
    ...ports,
    accounts: stores.measured('accounts', ports.accounts, ledgers.learn),
    generations: stores.measured('generations', ports.generations, generations.learnWith(ports)),
    claims: stores.measured('claims', ports.claims),
    acceptances: stores.measured('acceptances', ports.acceptances, {
      accept: (answer, [{ change, generations: accepted }]) => {
        if (answer.outcome !== 'accepted') return;
        ledgers.count(change);
        generations.countAccepted(ports, accepted, answer.existing);
      },
    }),
    uploads: stores.measured('uploads', ports.uploads),
    credentials: stores.measured('credentials', ports.credentials),
    people: stores.measured('people', ports.people),
    artefacts: stores.measured('artefacts', ports.artefacts),
    webhookEndpoints: stores.measured('webhookEndpoints', ports.webhookEndpoints),
    deliveries: stores.measured('deliveries', ports.deliveries),
    objects: { ...measuredObjects, ...objects.counted(measuredObjects) },
    wakeUps: wakeUps.counted(ports.wakeUps, stores.measured('wakeUps', ports.wakeUps)),
    providers: providers.measured(ports.providers),
  };
}
