import type { Cancellation } from '../../core/cancellation.js';
import type { WebhookEndpointStore } from '../../core/ports/webhook-endpoint-store.js';
import type { AppWebhooks } from '../../core/webhooks/endpoint.js';
import type { MongoConnection } from './connection.js';
import { NamedDocuments } from './named-documents.js';

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
