import type { Collection, UUID } from 'mongodb';
import { assert } from '../../core/assert.js';
import type { Claim, ClaimKey } from '../../core/idempotency/claim.js';
import type { ClaimStore, Insertion } from '../../core/ports/stores.js';
import type { MongoConnection } from './connection.js';
import { firstOrExisting, insertUnordered, ownUuid, removeDue, textOf } from './documents.js';
import { BY_ID } from './schema.js';

interface ClaimDocument {
  /** Account, App, operation and key; only the key, which comes last, may hold a slash. */
  readonly _id: string;
  readonly version: number;
  readonly digest: string;
  readonly subject: UUID;
  readonly createdAt: number;
  readonly leaseExpiresAt: number;
  /** Absent in what releases before this one wrote. */
  readonly boot?: UUID;
  readonly removeAt: number;
}

/** How many claims one command removes at most, so that none takes long. */
const MAX_REMOVED_AT_ONCE = 1_000;

/** Idempotency claims in MongoDB, one document a key. */
export class MongoClaimStore implements ClaimStore {
  private readonly claims: Collection<ClaimDocument>;

  constructor(private readonly connection: MongoConnection) {
    this.claims = connection.collection('claims');
  }

  insert(claim: Claim): Promise<Insertion<Claim>> {
    return firstOrExisting(
      () => this.connection.ask((limits) => this.claims.insertOne({ _id: idOf(claim), ...contentOf(claim) }, limits)),
      () => this.read(claim),
    );
  }

  /** Inserts claims of different keys, in no order, and returns the claims of the keys that are taken. */
  async insertAll(claims: readonly Claim[]): Promise<readonly Claim[]> {
    const documents = claims.map((claim) => ({ _id: idOf(claim), ...contentOf(claim) }));
    const refused = await this.connection.ask((limits) => insertUnordered(this.claims, documents, limits));
    const outcomes = await Promise.all(refused.map(async (place) => this.insert(claims[place] as Claim)));
    return outcomes.flatMap((outcome) => (outcome.inserted ? [] : [outcome.existing]));
  }

  async read(key: ClaimKey): Promise<Claim | null> {
    const found = await this.connection.ask((limits) => this.claims.findOne({ _id: idOf(key) }, limits));
    return found === null ? null : claimOf(key, found);
  }

  async replace(next: Claim, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const filter = { _id: idOf(next), version: expectedVersion };
    const { matchedCount } = await this.connection.ask((limits) =>
      this.claims.replaceOne(filter, contentOf(next), { ...limits, hint: BY_ID }),
    );
    return matchedCount === 1 ? 'applied' : 'conflict';
  }

  async remove(key: ClaimKey, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const filter = { _id: idOf(key), version: expectedVersion };
    const { deletedCount } = await this.connection.ask((limits) =>
      this.claims.deleteOne(filter, { ...limits, hint: BY_ID }),
    );
    return deletedCount === 1 ? 'applied' : 'conflict';
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    assert(Number.isInteger(limit) && limit >= 1, `a limit is at least 1, not ${limit}`);
    let removed = 0;
    while (removed < limit) {
      const wanted = Math.min(limit - removed, MAX_REMOVED_AT_ONCE);
      const some = await removeDue(this.connection, this.claims, 'claims_by_removal', now, wanted);
      removed += some;
      if (some < wanted) break;
    }
    return removed;
  }
}

function idOf({ accountId, appId, operation, key }: ClaimKey): string {
  return `${accountId}/${appId}/${operation}/${key}`;
}

function contentOf({
  version,
  digest,
  subjectId,
  createdAt,
  leaseExpiresAt,
  bootId,
  removeAt,
}: Claim): Omit<ClaimDocument, '_id'> {
  const boot = bootId === undefined ? {} : { boot: ownUuid(bootId) };
  return { version, digest, subject: ownUuid(subjectId), createdAt, leaseExpiresAt, ...boot, removeAt };
}

function claimOf(
  { accountId, appId, operation, key }: ClaimKey,
  { version, digest, subject, createdAt, leaseExpiresAt, boot, removeAt }: ClaimDocument,
): Claim {
  const bootId = boot === undefined ? {} : { bootId: textOf(boot) };
  return {
    accountId,
    appId,
    operation,
    key,
    version,
    digest,
    subjectId: textOf(subject),
    createdAt,
    leaseExpiresAt,
    ...bootId,
    removeAt,
  };
}
