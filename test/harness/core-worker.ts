import type { Boot } from '../../core/boot.js';
import type { Context } from '../../core/context.js';
import { type Generation, isTerminal } from '../../core/generation/generation.js';
import { Dispatcher } from '../../core/generation/run/dispatcher.js';
import type { Ports } from '../../core/ports/ports.js';
import { DELIVERY } from '../../core/webhooks/deliveries.js';
import { DeliveryQueue } from '../../core/webhooks/send-delivery.js';
import type { Interceptor } from '../fixtures/intercepted.js';
import type { CoreHarness } from './core-harness.js';

/** A worker process: takes the wake-ups of the harness's shared table. */
export class CoreWorker {
  readonly context: Context;
  readonly dispatcher: Dispatcher;
  readonly deliveries: DeliveryQueue;

  private constructor(
    harness: CoreHarness,
    name: string,
    interceptor?: Interceptor,
    changes: Partial<Ports> = {},
    boot?: Boot,
  ) {
    this.context = harness.process(interceptor, changes, boot);
    this.dispatcher = new Dispatcher(this.context, name);
    this.deliveries = new DeliveryQueue(this.context);
  }

  static async start(
    harness: CoreHarness,
    name = 'worker',
    interceptor?: Interceptor,
    boot?: Boot,
  ): Promise<CoreWorker> {
    const worker = CoreWorker.idle(harness, name, interceptor, {}, boot);
    await worker.context.wakeUps.start(
      ({ kind, id }) => (kind === DELIVERY ? worker.deliveries.deliver(id) : worker.dispatcher.deliver(id)),
      10_000,
    );
    return worker;
  }

  /** One that takes no wake-ups by itself; a test delivers them. */
  static idle(
    harness: CoreHarness,
    name = 'worker',
    interceptor?: Interceptor,
    changes: Partial<Ports> = {},
    boot?: Boot,
  ): CoreWorker {
    return new CoreWorker(harness, name, interceptor, changes, boot);
  }
}

/** Moves the clock on until the generation has ended and is settled. */
export async function untilSettled(harness: CoreHarness, generationId: string): Promise<Generation> {
  await harness.clock.until(
    async () => (await harness.generation(generationId)).settledAt !== undefined,
    `${generationId} is settled`,
  );
  return harness.generation(generationId);
}

export async function untilEnded(harness: CoreHarness, generationId: string): Promise<Generation> {
  await harness.clock.until(
    async () => isTerminal((await harness.generation(generationId)).status),
    `${generationId} has ended`,
  );
  return harness.generation(generationId);
}
