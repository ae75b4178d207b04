import { AbortSource } from '../abort-signal.js';
import type { Context } from '../context.js';
import type { Delivery } from './delivery.js';
import { Paces } from './paces.js';
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
  private readonly endpointPaces = new Paces(MAX_SENDING_TO_ENDPOINT);
  private readonly accountPaces = new Paces(MAX_SENDING_FOR_ACCOUNT);
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
    const putOffTo = this.hasRoomFor(delivery) ? undefined : this.putOffTo(delivery);
    if (putOffTo !== undefined) return wakeDelivery(this.context, delivery, putOffTo);
    await this.enter(delivery);
    try {
      await this.send(delivery);
    } finally {
      this.sending.delete(delivery);
      this.admit();
    }
  }

  private async send({ deliveryId, accountId, endpointId }: Delivery): Promise<void> {
    const { clock } = this.context;
    const begunAt = clock.now();
    if (!(await sendDelivery(this.context, deliveryId, this.stopped.signal))) return;
    const durationMs = clock.now() - begunAt;
    this.endpointPaces.took(endpointId, durationMs);
    this.accountPaces.took(accountId, durationMs);
  }

  /**
   * When it is woken again, where it finds no place to wait: what an account has too much of is put off, and nobody else's.
   * The addresses of single generations of an App share its id, and a pace: there may be as many as generations.
   */
  private putOffTo(delivery: Delivery): number | undefined {
    const now = this.context.clock.now();
    const ofAccount = this.waiting.filter((one) => one.delivery.accountId === delivery.accountId);
    const toEndpoint = ofAccount.filter((one) => isSameEndpoint(one.delivery, delivery));
    if (toEndpoint.length >= MAX_WAITING_FOR_ENDPOINT)
      return this.endpointPaces.nextAt(delivery.endpointId, toEndpoint.length, now);
    if (ofAccount.length >= MAX_WAITING_FOR_ACCOUNT || this.waiting.length >= MAX_WAITING)
      return this.accountPaces.nextAt(delivery.accountId, ofAccount.length, now);
    return undefined;
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

function isSameEndpoint(a: Delivery, b: Delivery): boolean {
  return a.endpointId === b.endpointId && a.url === b.url;
}
