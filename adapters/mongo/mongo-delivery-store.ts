import type { UUID } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import { type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { DeliveryStore, Insertion, ListedDeliveries } from '../../core/ports/stores.js';
import type { Delivery } from '../../core/webhooks/delivery.js';
import { cursorAt } from '../created-cursor.js';
import type { MongoConnection } from './connection.js';
import { listByCreation, type RecordDocument, uuidOf, VersionedDocuments } from './documents.js';

interface DeliveryDocument extends RecordDocument {
  readonly endpoint: UUID | null;
  readonly createdAt: number;
}

/** Webhook deliveries in MongoDB. */
export class MongoDeliveryStore implements DeliveryStore {
  private readonly documents: VersionedDocuments<Delivery, DeliveryDocument>;

  constructor(connection: MongoConnection) {
    this.documents = new VersionedDocuments(connection, {
      collection: 'deliveries',
      byAttention: 'deliveries_by_attention',
      idOf: ({ deliveryId }) => deliveryId,
      fieldsOf: ({ endpointId, createdAt }) => ({ endpoint: uuidOf(endpointId), createdAt }),
    });
  }

  insert(delivery: Delivery): Promise<Insertion<Delivery>> {
    return this.documents.insert(delivery);
  }

  read(deliveryId: string, call?: Cancellation): Promise<Delivery | null> {
    return this.documents.read(deliveryId, call);
  }

  replace(next: Delivery, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.documents.replace(next, expectedVersion);
  }

  remove(deliveryId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.documents.remove(deliveryId, expectedVersion);
  }

  due(now: number, limit: number): Promise<readonly Delivery[]> {
    return this.documents.due(now, limit);
  }

  async list(
    { endpointId, ...bounds }: ListedDeliveries,
    page: PageRequest,
    call?: Cancellation,
  ): Promise<Page<Delivery>> {
    const endpoint = uuidOf(endpointId);
    if (endpoint === null) return { items: [] };
    const wanted = { filter: { endpoint }, hint: 'deliveries_by_endpoint', ...bounds };
    const found = await listByCreation(this.documents, wanted, page, call);
    return pageOf(found, page, ({ createdAt, deliveryId }) => cursorAt({ createdAt, id: deliveryId }));
  }
}
