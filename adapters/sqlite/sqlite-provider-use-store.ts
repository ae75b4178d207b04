import type { ProviderUseStore } from '../../core/ports/stores.js';
import type { ProviderUse } from '../../core/providers/provider-use.js';
import type { Query, SqliteReader } from './reader.js';
import type { SqliteWriter } from './writer.js';

/** What workers share of each provider, in SQLite. */
export class SqliteProviderUseStore implements ProviderUseStore {
  private readonly byName: Query;

  constructor(
    private readonly writer: Pick<SqliteWriter, 'write'>,
    reader: SqliteReader,
  ) {
    this.byName = reader.query(`SELECT doc FROM provider_uses WHERE provider = ?`);
  }

  async read(provider: string): Promise<ProviderUse | null> {
    const row = this.byName.get(provider);
    return row === undefined ? null : (JSON.parse(row['doc'] as string) as ProviderUse);
  }

  async replace(next: ProviderUse, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const values = [next.provider, expectedVersion, next.version, JSON.stringify(next)] as const;
    return (await this.writer.write('replaceProviderUse', ...values)) === 1 ? 'applied' : 'conflict';
  }
}
