import type { UUID } from 'mongodb';
import { assert } from '../../core/assert.js';
import type { Claim, ClaimKey } from '../../core/idempotency/claim.js';
import { checkedLimit } from '../../core/paging.js';
import type { ClaimStore, Insertion } from '../../core/ports/stores.js';
import type { MongoConnection } from './connection.js';
import { Documents, ownUuid, present, textOf } from './documents.js';
import { BY_ID } from './schema.js';

interface ClaimDocument extends Pick<Claim, 'version' | 'digest' | 'createdAt' | 'leaseExpiresAt' | 'removeAt'> {
  /** Account, App, operation and key; only the key, which comes last, may hold a slash. */
  readonly _id: string;
  readonly subject: UUID;
  /** Absent in what releases before this one wrote. */
  readonly boot?: UUID | undefined;
}

/** How many claims one command removes at most, so that none takes long. */
const MAX_REMOVED_AT_ONCE = 1_000;

/** Idempotency claims in MongoDB, one document a key. */
export class MongoClaimStore implements ClaimStore {
  private readonly claims: Documents<ClaimDocument>;

  constructor(connection: MongoConnection) {
    this.claims = new Documents(connection, 'claims');
  }

  insert(claim: Claim): Promise<Insertion<Claim>> {
    return this.claims.insertOrRead(documentOf(claim), () => this.read(claim));
  }

  /** Inserts claims of different keys, in no order, and returns the claims of the keys that are taken. */
  async insertAll(claims: readonly Claim[]): Promise<readonly Claim[]> {
    const refused = await this.claims.insertAll(claims.map(documentOf));
    const outcomes = await Promise.all(refused.map(async (place) => this.insert(claims[place] as Claim)));
    return outcomes.flatMap((outcome) => (outcome.inserted ? [] : [outcome.existing]));
  }

  async read(key: ClaimKey): Promise<Claim | null> {
    const found = await this.claims.first({ _id: idOf(key) });
    return found === null ? null : claimOf(key, found);
  }

  async replace(next: Claim, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const { _id, ...content } = documentOf(next);
    return this.claims.replace({ _id, version: expectedVersion }, content);
  }

  remove(key: ClaimKey, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.claims.remove({ _id: idOf(key), version: expectedVersion });
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    assert(Number.isInteger(limit) && limit >= 1, `a limit is at least 1, not ${limit}`);
    let removed = 0;
    while (removed < limit) {
      const wanted = Math.min(limit - removed, MAX_REMOVED_AT_ONCE);
      const some = await this.claims.removeDue('claims_by_removal', now, wanted);
      removed += some;
      if (some < wanted) break;
    }
    return removed;
  }

  removeOfAccount(accountId: string, limit: number): Promise<number> {
    // The character after the slash, so that ids begin with the account.
    const own = { _id: { $gte: `${accountId}/`, $lt: `${accountId}0` } };
    return this.claims.removeFirst(own, { _id: 1 }, checkedLimit(limit), BY_ID);
  }
}

function idOf({ accountId, appId, operation, key }: ClaimKey): string {
  return `${accountId}/${appId}/${operation}/${key}`;
}

function documentOf(claim: Claim): ClaimDocument {
  const { version, digest, subjectId, createdAt, leaseExpiresAt, bootId, removeAt } = claim;
  const [subject, boot] = [ownUuid(subjectId), bootId === undefined ? undefined : ownUuid(bootId)];
  return { _id: idOf(claim), version, digest, subject, createdAt, leaseExpiresAt, boot, removeAt };
}

export function claimOf({ accountId, appId, operation, key }: ClaimKey, document: ClaimDocument): Claim {
  const { version, digest, subject, createdAt, leaseExpiresAt, boot, removeAt } = document;
  const [subjectId, bootId] = [textOf(subject), boot && textOf(boot)];
  const content = { version, digest, subjectId, createdAt, leaseExpiresAt, bootId, removeAt };
  return present<Claim>({ accountId, appId, operation, key, ...content });
}
