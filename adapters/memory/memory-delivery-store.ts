import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { DeliveryStore, ListedDeliveries } from '../../core/ports/stores.js';
import type { Delivery } from '../../core/webhooks/delivery.js';
import { type CreatedPlace, cursorAt, placeBefore } from '../created-cursor.js';
import { behind, comparePlaces, listNamed } from './descending-lists.js';
import type { OrderedList } from './ordered-list.js';
import { type Insertion, VersionedRecords } from './versioned-records.js';

/** Webhook deliveries in this process's memory; gone when the process ends. */
export class MemoryDeliveryStore implements DeliveryStore {
  private readonly records = new VersionedRecords<Delivery>(({ deliveryId }) => deliveryId);
  private readonly byEndpoint = new Map<string, OrderedList<CreatedPlace>>();

  async insert(delivery: Delivery): Promise<Insertion<Delivery>> {
    const insertion = this.records.insert(delivery);
    if (insertion.inserted) listNamed(this.byEndpoint, delivery.endpointId, comparePlaces).insert(placeOf(delivery));
    return insertion;
  }

  async read(deliveryId: string, call?: Cancellation): Promise<Delivery | null> {
    throwIfAborted(call);
    return this.records.read(deliveryId);
  }

  async replace(next: Delivery, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.records.replace(next, expectedVersion);
  }

  async remove(deliveryId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const before = this.records.read(deliveryId);
    const outcome = this.records.remove(deliveryId, expectedVersion);
    if (before !== null && outcome === 'applied')
      listNamed(this.byEndpoint, before.endpointId, comparePlaces).remove(placeOf(before));
    return outcome;
  }

  async due(now: number, limit: number): Promise<readonly Delivery[]> {
    return this.records.due(now, limit);
  }

  async list(
    { endpointId, createdFrom = 0, createdBefore }: ListedDeliveries,
    page: PageRequest,
    call?: Cancellation,
  ): Promise<Page<Delivery>> {
    throwIfAborted(call);
    const limit = checkedLimit(page.limit) + 1;
    const places = this.byEndpoint.get(endpointId);
    const found = places === undefined ? [] : behind(places, placeBefore(page.cursor, createdBefore), limit);
    const wanted = found.filter(({ createdAt }) => createdAt >= createdFrom);
    return pageOf(
      wanted.map(({ id }) => this.records.read(id) as Delivery),
      page,
      (delivery) => cursorAt(placeOf(delivery)),
    );
  }
}

function placeOf({ createdAt, deliveryId }: Delivery): CreatedPlace {
  return { createdAt, id: deliveryId };
}
