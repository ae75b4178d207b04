import { requireWanted, type Cancellation } from '../../core/cancellation.js';
import type { WebhookEndpointStore } from '../../core/ports/webhook-endpoint-store.js';
import type { AppWebhooks } from '../../core/webhooks/endpoint.js';
import type { Query, SqliteReader } from './reader.js';
import type { SqliteWriter } from './writer.js';

/** Webhook endpoints in SQLite, one record an App. */
export class SqliteWebhookEndpointStore implements WebhookEndpointStore {
  private readonly byApp: Query;

  constructor(
    private readonly writer: Pick<SqliteWriter, 'write'>,
    reader: SqliteReader,
  ) {
    this.byApp = reader.query(`SELECT doc FROM webhook_endpoints WHERE app = ?`);
  }

  async read(appId: string, call?: Cancellation): Promise<AppWebhooks | null> {
    requireWanted(call);
    const row = this.byApp.get(appId);
    return row === undefined ? null : (JSON.parse(row['doc'] as string) as AppWebhooks);
  }

  async replace(next: AppWebhooks, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const values = [next.appId, expectedVersion, next.version, JSON.stringify(next)] as const;
    return (await this.writer.write('replaceAppWebhooks', ...values)) === 1 ? 'applied' : 'conflict';
  }
}
