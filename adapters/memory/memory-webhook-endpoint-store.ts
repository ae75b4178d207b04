import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import type { WebhookEndpointStore } from '../../core/ports/stores.js';
import type { AppWebhooks } from '../../core/webhooks/endpoint.js';
import { MemoryNamedRecords } from './memory-named-records.js';

/** Webhook endpoints in this process's memory; gone when the process ends. */
export class MemoryWebhookEndpointStore implements WebhookEndpointStore {
  private readonly apps = new MemoryNamedRecords<AppWebhooks>(({ appId }) => appId);

  async read(appId: string, call?: Cancellation): Promise<AppWebhooks | null> {
    throwIfAborted(call);
    return this.apps.read(appId);
  }

  async replace(next: AppWebhooks, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.apps.replace(next, expectedVersion);
  }
}
