import { AbortSource } from '../abort-signal.js';
import type { Context } from '../context.js';
import type { Delivery } from './delivery.js';
import { EndpointPaces } from './endpoint-pace.js';
import { sendDelivery } from './send-delivery.js';
import { wakeDelivery } from './wake-delivery.js';

/** How many messages one process sends at once: in all, for one account, and to one endpoint. */
const MAX_SENDING = 128;
const MAX_SENDING_FOR_ACCOUNT = 16;
const MAX_SENDING_TO_ENDPOINT = 4;

/** How many wait in one process, for one endpoint, for one account and in all; further ones are woken again later. */
const MAX_WAITING_FOR_ENDPOINT = 256;
const MAX_WAITING_FOR_ACCOUNT = 512;
const MAX_WAITING = 2_000;

class Stopping extends Error {
  constructor() {
    super('This process is stopping.');
    this.name = 'Stopping';
  }
}

interface Waiting {
  readonly delivery: Delivery;
  readonly admit: () => void;
  readonly refuse: (why: Error) => void;
}

/**
 * Sends deliveries that this process is woken for, a bounded number at a time. A slow endpoint delays only its own: each
 * endpoint and each account has a bound of its own below that of the process.
 */
export class DeliveryQueue {
  private readonly stopped = new AbortSource();
  private readonly sending = new Set<Delivery>();
  private readonly waiting: Waiting[] = [];
  private readonly promises = new Map<string, Promise<void>>();
  private readonly paces = new EndpointPaces(MAX_SENDING_TO_ENDPOINT);
  private isStopping = false;

  constructor(private readonly context: Context) {}

  get counts(): { readonly sending: number; readonly waiting: number } {
    return { sending: this.sending.size, waiting: this.waiting.length };
  }

  /** Rejects when the wake-up should be delivered again later. One that is here already is not taken twice. */
  deliver(deliveryId: string): Promise<void> {
    if (this.isStopping) return Promise.reject(new Stopping());
    const known = this.promises.get(deliveryId);
    if (known !== undefined) return known;
    const done = this.take(deliveryId).finally(() => this.promises.delete(deliveryId));
    this.promises.set(deliveryId, done);
    return done;
  }

  /** Takes no more, and cuts what is being sent after `graceMs`. Answers whether it ended by itself. */
  async stop(graceMs: number): Promise<boolean> {
    this.isStopping = true;
    for (const { refuse } of this.waiting.splice(0)) refuse(new Stopping());
    let isCut = false;
    const cancel = this.context.clock.after(graceMs, () => {
      isCut = true;
      this.stopped.abort(new Stopping());
    });
    await Promise.allSettled(this.promises.values());
    cancel();
    return !isCut;
  }

  private async take(deliveryId: string): Promise<void> {
    const delivery = await this.context.deliveries.read(deliveryId);
    if (delivery === null) return;
    if (!this.hasRoomFor(delivery) && this.isFullFor(delivery)) return this.putOff(delivery);
    await this.enter(delivery);
    const { clock } = this.context;
    const begunAt = clock.now();
    try {
      await sendDelivery(this.context, deliveryId, this.stopped.signal);
    } finally {
      this.paces.took(endpointOf(delivery), clock.now() - begunAt);
      this.sending.delete(delivery);
      this.admit();
    }
  }

  /** What an account has too much of is put off, and nobody else's. */
  private isFullFor(delivery: Delivery): boolean {
    if (this.waiting.length >= MAX_WAITING) return true;
    const ofAccount = this.waiting.filter((one) => one.delivery.accountId === delivery.accountId);
    if (ofAccount.length >= MAX_WAITING_FOR_ACCOUNT) return true;
    return ofAccount.filter((one) => isSameEndpoint(one.delivery, delivery)).length >= MAX_WAITING_FOR_ENDPOINT;
  }

  private putOff(delivery: Delivery): void {
    const waiting = this.waiting.filter((one) => isSameEndpoint(one.delivery, delivery)).length;
    const at = this.paces.nextAt(endpointOf(delivery), waiting, this.context.clock.now());
    wakeDelivery(this.context, delivery, at);
  }

  private enter(delivery: Delivery): Promise<void> {
    if (this.isStopping) return Promise.reject(new Stopping());
    if (this.hasRoomFor(delivery)) {
      this.sending.add(delivery);
      return Promise.resolve();
    }
    return new Promise((admit, refuse) => this.waiting.push({ delivery, admit, refuse }));
  }

  /** In the order in which they came, past those whose endpoint or account has no room. */
  private admit(): void {
    for (let index = 0; index < this.waiting.length && this.sending.size < MAX_SENDING;) {
      const next = this.waiting[index] as Waiting;
      if (!this.hasRoomFor(next.delivery)) {
        index += 1;
        continue;
      }
      this.waiting.splice(index, 1);
      this.sending.add(next.delivery);
      next.admit();
    }
  }

  private hasRoomFor(delivery: Delivery): boolean {
    if (this.sending.size >= MAX_SENDING) return false;
    const ofAccount = [...this.sending].filter(({ accountId }) => accountId === delivery.accountId);
    if (ofAccount.length >= MAX_SENDING_FOR_ACCOUNT) return false;
    return ofAccount.filter((one) => isSameEndpoint(one, delivery)).length < MAX_SENDING_TO_ENDPOINT;
  }
}

function endpointOf({ endpointId, url = '' }: Delivery): string {
  return `${endpointId} ${url}`;
}

function isSameEndpoint(a: Delivery, b: Delivery): boolean {
  return a.endpointId === b.endpointId && a.url === b.url;
}
