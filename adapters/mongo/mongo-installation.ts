import { compareFacts, type ComparedFacts, type Installation, type InstallationFacts } from '../driver.js';
import type { MongoConnection } from './connection.js';
import { Documents } from './documents.js';
import { INSTALLATION } from './schema.js';

interface FactsDocument extends InstallationFacts {
  readonly _id: 'facts';
}

/** Keeps processes that were configured for another secret or another object store from the same database. */
export class MongoInstallation implements Installation {
  private readonly facts: Documents<FactsDocument>;

  constructor(connection: MongoConnection) {
    this.facts = new Documents(connection, INSTALLATION);
  }

  async check(facts: Partial<InstallationFacts>): Promise<ComparedFacts> {
    const existing = await this.facts.first({ _id: 'facts' });
    return existing === null ? 'same' : compareFacts(existing, facts);
  }

  async claim({ secret, objects }: InstallationFacts): Promise<ComparedFacts> {
    const document = { _id: 'facts', secret, objects } as const;
    const outcome = await this.facts.insertOrRead(document, () => this.facts.first<FactsDocument>({ _id: 'facts' }));
    return outcome.inserted ? 'same' : compareFacts(outcome.existing, { secret, objects });
  }
}
