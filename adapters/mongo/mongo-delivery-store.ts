import type { UUID } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import { type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { DeliveryStore, ListedDeliveries } from '../../core/ports/stores.js';
import type { Delivery } from '../../core/webhooks/delivery.js';
import { cursorAt } from '../created-cursor.js';
import type { MongoConnection } from './connection.js';
import { type RecordDocument, uuidOf, VersionedDocuments } from './documents.js';

interface DeliveryDocument extends RecordDocument {
  readonly endpoint: UUID | null;
  readonly createdAt: number;
}

/** Webhook deliveries in MongoDB. */
export class MongoDeliveryStore extends VersionedDocuments<Delivery, DeliveryDocument> implements DeliveryStore {
  constructor(connection: MongoConnection) {
    super(connection, {
      collection: 'deliveries',
      byAttention: 'deliveries_by_attention',
      idOf: ({ deliveryId }) => deliveryId,
      fieldsOf: ({ endpointId, createdAt }) => ({ endpoint: uuidOf(endpointId), createdAt }),
    });
  }

  async list(
    { endpointId, ...bounds }: ListedDeliveries,
    page: PageRequest,
    call?: Cancellation,
  ): Promise<Page<Delivery>> {
    const endpoint = uuidOf(endpointId);
    if (endpoint === null) return { items: [] };
    const wanted = { filter: { endpoint }, hint: 'deliveries_by_endpoint', ...bounds };
    const found = await this.listByCreation(wanted, page, call);
    return pageOf(found, page, ({ createdAt, deliveryId }) => cursorAt({ createdAt, id: deliveryId }));
  }
}
