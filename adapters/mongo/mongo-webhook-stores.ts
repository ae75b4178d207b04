import type { UUID } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import { type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { DeliveryStore, ListedDeliveries, WebhookEndpointStore } from '../../core/ports/stores.js';
import type { Delivery } from '../../core/webhooks/delivery.js';
import type { AppWebhooks } from '../../core/webhooks/endpoint.js';
import { cursorAt } from '../created-cursor.js';
import type { MongoConnection } from './connection.js';
import { listByCreation, NamedDocuments, type RecordDocument, uuidOf, VersionedDocuments } from './documents.js';

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

  insert(
    delivery: Delivery,
  ): Promise<{ readonly inserted: true } | { readonly inserted: false; readonly existing: Delivery }> {
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

/** Webhook endpoints in MongoDB, one document an App. */
export class MongoWebhookEndpointStore implements WebhookEndpointStore {
  private readonly apps: NamedDocuments<AppWebhooks>;

  constructor(connection: MongoConnection) {
    this.apps = new NamedDocuments(connection, 'webhook_endpoints', ({ appId }) => appId);
  }

  read(appId: string, call?: Cancellation): Promise<AppWebhooks | null> {
    return this.apps.read(appId, call);
  }

  replace(next: AppWebhooks, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.apps.replace(next, expectedVersion);
  }
}
