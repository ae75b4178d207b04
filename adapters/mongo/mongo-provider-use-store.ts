import type { Collection } from 'mongodb';
import type { ProviderUseStore } from '../../core/ports/provider-use-store.js';
import type { ProviderUse } from '../../core/providers/provider-use.js';
import type { MongoConnection } from './connection.js';
import { BY_ID } from './schema.js';
import { isDuplicateKey } from './store-errors.js';

interface UseDocument {
  /** The provider's name. */
  readonly _id: string;
  readonly version: number;
  /** The record as JSON: messages of errors have characters that BSON gives a meaning to. */
  readonly record: string;
}

/** What workers share of each provider, in MongoDB. */
export class MongoProviderUseStore implements ProviderUseStore {
  private readonly uses: Collection<UseDocument>;

  constructor(private readonly connection: MongoConnection) {
    this.uses = connection.collection('provider_uses');
  }

  async read(provider: string): Promise<ProviderUse | null> {
    const found = await this.connection.ask((limits) => this.uses.findOne({ _id: provider }, limits));
    return found === null ? null : (JSON.parse(found.record) as ProviderUse);
  }

  async replace(next: ProviderUse, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const { provider, version } = next;
    const record = JSON.stringify(next);
    if (expectedVersion === 0) return this.insert({ _id: provider, version, record });
    const { matchedCount } = await this.connection.ask((limits) =>
      this.uses.updateOne(
        { _id: provider, version: expectedVersion },
        { $set: { version, record } },
        { ...limits, hint: BY_ID },
      ),
    );
    return matchedCount === 1 ? 'applied' : 'conflict';
  }

  private async insert(document: UseDocument): Promise<'applied' | 'conflict'> {
    try {
      await this.connection.ask((limits) => this.uses.insertOne(document, limits));
      return 'applied';
    } catch (error) {
      if (isDuplicateKey(error)) return 'conflict';
      throw error;
    }
  }
}
