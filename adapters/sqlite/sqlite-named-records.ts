import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import type { ProviderUse } from '../../core/providers/provider-use.js';
import type { AppWebhooks } from '../../core/webhooks/endpoint.js';
import type { Query, SqliteReader } from './reader.js';
import type { SqliteWriter } from './writer.js';

/** A table of records by name, each as one JSON text, and the write that replaces one. */
interface NamedTable<R> {
  readonly table: string;
  readonly name: string;
  readonly write: 'replaceProviderUse' | 'replaceAppWebhooks';
  readonly nameOf: (record: R) => string;
}

/** The state that workers share about each provider. */
export const PROVIDER_USES: NamedTable<ProviderUse> = {
  table: 'provider_uses',
  name: 'provider',
  write: 'replaceProviderUse',
  nameOf: ({ provider }) => provider,
};

/** The webhook endpoints of each App. */
export const WEBHOOK_ENDPOINTS: NamedTable<AppWebhooks> = {
  table: 'webhook_endpoints',
  name: 'app',
  write: 'replaceAppWebhooks',
  nameOf: ({ appId }) => appId,
};

/** Records by name in SQLite, each written onto the version that its writer saw; 0 means none. */
export class SqliteNamedRecords<R extends { readonly version: number }> {
  private readonly byName: Query;

  constructor(
    private readonly writer: Pick<SqliteWriter, 'write'>,
    reader: SqliteReader,
    private readonly named: NamedTable<R>,
  ) {
    this.byName = reader.query(`SELECT doc FROM ${named.table} WHERE ${named.name} = ?`);
  }

  async read(name: string, call?: Cancellation): Promise<R | null> {
    throwIfAborted(call);
    const row = this.byName.get(name);
    return row === undefined ? null : (JSON.parse(row['doc'] as string) as R);
  }

  async replace(next: R, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const { write, nameOf } = this.named;
    const changed = await this.writer.write(write, nameOf(next), expectedVersion, next.version, JSON.stringify(next));
    return changed === 1 ? 'applied' : 'conflict';
  }
}
