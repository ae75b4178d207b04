import type { Link, Toxiproxy } from '../harness/toxiproxy.js';
import type { Message } from '../history/webhook-history.js';
import { Receiver } from './receiver.js';

export const RECEIVER_NAMES = ['receiver-1', 'receiver-2'] as const;
export type ReceiverName = (typeof RECEIVER_NAMES)[number];

interface Place {
  readonly receiver: Receiver;
  readonly link: Link;
}

/** The receivers of webhooks, each behind one link that all workers share. */
export class Receivers {
  private constructor(private readonly places: ReadonlyMap<ReceiverName, Place>) {}

  /** `name` tells their links from those of other runs. */
  static async open(name: string, toxiproxy: Toxiproxy): Promise<Receivers> {
    const places = new Map<ReceiverName, Place>();
    for (const one of RECEIVER_NAMES) {
      const receiver = await Receiver.open();
      places.set(one, { receiver, link: await toxiproxy.link(`${name}-${one}`, receiver.port) });
    }
    return new Receivers(places);
  }

  /** What the operator allows, for otherwise no address of this machine is called. */
  get allowedHosts(): string {
    return RECEIVER_NAMES.map((name) => `127.0.0.1:${this.link(name).port}`).join();
  }

  urlOf(name: ReceiverName, endpoint: string): string {
    return `http://127.0.0.1:${this.link(name).port}/${endpoint}`;
  }

  receiver(name: ReceiverName): Receiver {
    return this.place(name).receiver;
  }

  link(name: ReceiverName): Link {
    return this.place(name).link;
  }

  get messages(): Message[] {
    return [...this.places.values()].flatMap(({ receiver }) => receiver.messages).sort((a, b) => a.at - b.at);
  }

  get followedRedirects(): number {
    return [...this.places.values()].reduce((sum, { receiver }) => sum + receiver.followedRedirects, 0);
  }

  async close(): Promise<void> {
    for (const { receiver, link } of this.places.values()) await Promise.all([link.remove(), receiver.close()]);
  }

  private place(name: ReceiverName): Place {
    const place = this.places.get(name);
    if (place === undefined) throw new Error(`There is no receiver ${name}.`);
    return place;
  }
}
