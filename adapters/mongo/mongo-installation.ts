import type { Collection } from 'mongodb';
import type { MongoConnection } from './connection.js';
import { firstOrExisting } from './documents.js';
import { INSTALLATION } from './schema.js';

/** What all processes of one installation must have in common, as fingerprints that reveal none of it. */
export interface InstallationFacts {
  /** Of the secret that digests are keyed with. */
  readonly secret: string;
  /** Of the place objects are kept in. */
  readonly objects: string;
}

interface FactsDocument extends InstallationFacts {
  readonly _id: 'facts';
}

/** Keeps processes that were configured for another secret or another object store from the same database. */
export class MongoInstallation {
  private readonly collection: Collection<FactsDocument>;

  constructor(private readonly connection: MongoConnection) {
    this.collection = connection.collection(INSTALLATION);
  }

  /**
   * Which of the facts differs from what the first process wrote, for callers that do not know them all. Throws
   * `StoreUnavailable`.
   */
  async check(facts: Partial<InstallationFacts>): Promise<'same' | { readonly other: 'secret' | 'objects' }> {
    const existing = await this.connection.ask((limits) => this.collection.findOne({ _id: 'facts' }, limits));
    return existing === null ? 'same' : compared(existing, facts);
  }

  /** The first process writes its facts; a later one learns which of its own differs. Throws `StoreUnavailable`. */
  async claim({ secret, objects }: InstallationFacts): Promise<'same' | { readonly other: 'secret' | 'objects' }> {
    const outcome = await firstOrExisting<InstallationFacts>(
      () => this.connection.ask((limits) => this.collection.insertOne({ _id: 'facts', secret, objects }, limits)),
      () => this.connection.ask((limits) => this.collection.findOne({ _id: 'facts' }, limits)),
    );
    return outcome.inserted ? 'same' : compared(outcome.existing, { secret, objects });
  }
}

function compared(
  existing: InstallationFacts,
  { secret = existing.secret, objects = existing.objects }: Partial<InstallationFacts>,
): 'same' | { readonly other: 'secret' | 'objects' } {
  if (existing.secret !== secret) return { other: 'secret' };
  return existing.objects === objects ? 'same' : { other: 'objects' };
}
