import type { ProviderUseStore } from '../../core/ports/stores.js';
import type { ProviderUse } from '../../core/providers/provider-use.js';
import type { MongoConnection } from './connection.js';
import { NamedDocuments } from './documents.js';

/** What workers share of each provider, in MongoDB. */
export class MongoProviderUseStore implements ProviderUseStore {
  private readonly uses: NamedDocuments<ProviderUse>;

  constructor(connection: MongoConnection) {
    this.uses = new NamedDocuments(connection, 'provider_uses', ({ provider }) => provider);
  }

  read(provider: string): Promise<ProviderUse | null> {
    return this.uses.read(provider);
  }

  replace(next: ProviderUse, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.uses.replace(next, expectedVersion);
  }
}
