import type { Collection } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import type { MongoConnection } from './connection.js';
import { BY_ID, type CollectionName } from './schema.js';
import { isDuplicateKey } from './store-errors.js';

interface NamedDocument {
  /** The name. */
  readonly _id: string;
  readonly version: number;
  /** The record as JSON: its texts have characters that BSON gives a meaning to. */
  readonly record: string;
}

/** Records by name, each written onto the version that its writer saw; 0 stands for none. */
export class NamedDocuments<T extends { readonly version: number }> {
  private readonly collection: Collection<NamedDocument>;

  constructor(
    private readonly connection: MongoConnection,
    collection: CollectionName,
    private readonly nameOf: (record: T) => string,
  ) {
    this.collection = connection.collection(collection);
  }

  async read(name: string, call?: Cancellation): Promise<T | null> {
    const found = await this.connection.ask((limits) => this.collection.findOne({ _id: name }, limits), call);
    return found === null ? null : (JSON.parse(found.record) as T);
  }

  async replace(next: T, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const { version } = next;
    const _id = this.nameOf(next);
    const record = JSON.stringify(next);
    if (expectedVersion === 0) return this.insert({ _id, version, record });
    const { matchedCount } = await this.connection.ask((limits) =>
      this.collection.updateOne(
        { _id, version: expectedVersion },
        { $set: { version, record } },
        { ...limits, hint: BY_ID },
      ),
    );
    return matchedCount === 1 ? 'applied' : 'conflict';
  }

  private async insert(document: NamedDocument): Promise<'applied' | 'conflict'> {
    try {
      await this.connection.ask((limits) => this.collection.insertOne(document, limits));
      return 'applied';
    } catch (error) {
      if (isDuplicateKey(error)) return 'conflict';
      throw error;
    }
  }
}
