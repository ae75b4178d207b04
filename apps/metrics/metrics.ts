import { Registry } from 'prom-client';
import { BoundRefusals } from './bound-refusals.js';
import { GenerationWrites } from './generation-writes.js';
import { GrpcCalls } from './grpc-calls.js';
import { HttpRequests } from './http-requests.js';
import { LedgerWrites } from './ledger-writes.js';
import { ObjectBytes } from './object-bytes.js';
import { ProcessUse } from './process-use.js';
import { ProviderCalls } from './provider-calls.js';
import { ProviderGateUse } from './provider-gates.js';
import { RecoveryPasses } from './recovery-passes.js';
import { StoreCalls } from './store-calls.js';
import { WakeUpDeliveries } from './wake-up-deliveries.js';
import { Warnings } from './warnings.js';
import { WorkerLoad } from './worker-load.js';

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
