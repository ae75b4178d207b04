import type { Collection } from 'mongodb';
import { compareFacts, type ComparedFacts, type Installation, type InstallationFacts } from '../driver.js';
import type { MongoConnection } from './connection.js';
import { firstOrExisting } from './documents.js';
import { INSTALLATION } from './schema.js';

interface FactsDocument extends InstallationFacts {
  readonly _id: 'facts';
}

/** Keeps processes that were configured for another secret or another object store from the same database. */
export class MongoInstallation implements Installation {
  private readonly collection: Collection<FactsDocument>;

  constructor(private readonly connection: MongoConnection) {
    this.collection = connection.collection(INSTALLATION);
  }

  async check(facts: Partial<InstallationFacts>): Promise<ComparedFacts> {
    const existing = await this.connection.ask((limits) => this.collection.findOne({ _id: 'facts' }, limits));
    return existing === null ? 'same' : compareFacts(existing, facts);
  }

  async claim({ secret, objects }: InstallationFacts): Promise<ComparedFacts> {
    const outcome = await firstOrExisting<InstallationFacts>(
      () => this.connection.ask((limits) => this.collection.insertOne({ _id: 'facts', secret, objects }, limits)),
      () => this.connection.ask((limits) => this.collection.findOne({ _id: 'facts' }, limits)),
    );
    return outcome.inserted ? 'same' : compareFacts(outcome.existing, { secret, objects });
  }
}
