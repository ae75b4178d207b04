import type { Generation } from '../../../core/generation/generation.js';
import type { Json } from '../../../core/json.js';
import type { WebhookMessage } from '../../../core/ports/outside.js';
import type { Delivery } from '../../../core/webhooks/delivery.js';
import type { WebhookEndpoint } from '../../../core/webhooks/endpoint.js';
import { createEndpoint } from '../../../core/webhooks/manage-endpoints.js';
import { ReceivingSender } from '../../fixtures/receiving-sender.js';
import { CoreHarness, CoreWorker, type HarnessOptions, untilSettled } from '../../harness/core-harness.js';

const URL = 'https://receiver.example/hook';

/** Core on memory adapters, with receivers whose answers a test gives. */
export class DeliveredHarness {
  private constructor(
    readonly core: CoreHarness,
    readonly sender: ReceivingSender,
  ) {}

  static async open(options: HarnessOptions = {}): Promise<DeliveredHarness> {
    const sender = new ReceivingSender();
    return new DeliveredHarness(await CoreHarness.open({ ...options, ports: { webhookSender: sender } }), sender);
  }

  async endpoint(body: Json = { url: URL }, caller = this.core.caller): Promise<WebhookEndpoint> {
    return (await createEndpoint(this.core.context, caller, body)).endpoint;
  }

  /** A generation that its own worker has ended and settled. */
  async ended(caller = this.core.caller): Promise<Generation> {
    const generation = await this.core.create({}, caller);
    await CoreWorker.start(this.core, 'worker');
    return untilSettled(this.core, generation.generationId);
  }

  async deliveries(endpointId: string): Promise<readonly Delivery[]> {
    return (await this.core.ports.deliveries.list({ of: 'endpoint', id: endpointId }, { limit: 100 })).items;
  }

  /** The endpoint's only delivery. */
  async delivery(endpointId: string): Promise<Delivery> {
    const [delivery, ...more] = await this.deliveries(endpointId);
    if (delivery === undefined || more.length > 0)
      throw new Error(`There are ${more.length + (delivery ? 1 : 0)} deliveries.`);
    return delivery;
  }

  async untilState(endpointId: string, state: Delivery['state'], limitMs?: number): Promise<Delivery> {
    const { clock } = this.core;
    await clock.until(async () => (await this.deliveries(endpointId))[0]?.state === state, `it is ${state}`, limitMs);
    return this.delivery(endpointId);
  }

  told(): readonly (readonly [WebhookMessage['event'], string])[] {
    return this.sender.received.map(({ event, url }) => [event, url] as const);
  }
}
