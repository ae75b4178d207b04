import { assert } from '../../core/assert.js';
import type { Claim, ClaimKey } from '../../core/idempotency/claim.js';
import type { ClaimStore, Insertion } from '../../core/ports/stores.js';
import { CLAIM_OF_KEY, claimKeyDigest } from './writes.js';
import { type SqlValue, uuidOfHex } from './database.js';
import type { Query, SqliteReader } from './reader.js';
import type { SqliteWriter } from './writer.js';

/** The columns of a claim beside its key. */
export interface ClaimRow {
  readonly version: number;
  readonly digest: string;
  readonly subject: string;
  readonly created_at: number;
  readonly lease_expires_at: number;
  /** Empty in what releases before this one wrote. */
  readonly boot: string;
  readonly remove_at: number;
}

/** Idempotency claims in SQLite. */
export class SqliteClaimStore implements ClaimStore {
  private readonly byKey: Query;

  constructor(
    private readonly writer: Pick<SqliteWriter, 'write'>,
    reader: SqliteReader,
  ) {
    this.byKey = reader.query(CLAIM_OF_KEY);
  }

  async insert(claim: Claim): Promise<Insertion<Claim>> {
    const result = await this.writer.write('insertClaim', ...claimValues(claim));
    return result === 1
      ? { inserted: true }
      : { inserted: false, existing: claimOf(claim, JSON.parse(result as string) as ClaimRow) };
  }

  async read(key: ClaimKey): Promise<Claim | null> {
    const row = this.byKey.get(keyDigestOf(key));
    return row === undefined ? null : claimOf(key, row as unknown as ClaimRow);
  }

  async replace(next: Claim, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const changed = await this.writer.write('replaceClaim', keyDigestOf(next), expectedVersion, ...contentOf(next));
    return changed === 1 ? 'applied' : 'conflict';
  }

  async remove(key: ClaimKey, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const changed = await this.writer.write('removeClaim', keyDigestOf(key), expectedVersion);
    return changed === 1 ? 'applied' : 'conflict';
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    assert(Number.isInteger(limit) && limit >= 1, `a limit is at least 1, not ${limit}`);
    return (await this.writer.write('removeExpiredClaims', now, limit)) as number;
  }
}

/** The arguments of `insertClaim`. */
export function claimValues(claim: Claim): SqlValue[] {
  return [keyDigestOf(claim), ...contentOf(claim)];
}

function keyDigestOf({ accountId, appId, operation, key }: ClaimKey): string {
  return claimKeyDigest(accountId, appId, operation, key);
}

/** The columns beside the key. */
function contentOf(claim: Claim): SqlValue[] {
  const { version, digest, subjectId, createdAt, leaseExpiresAt, removeAt, bootId = null } = claim;
  return [version, digest, subjectId, createdAt, leaseExpiresAt, removeAt, bootId];
}

export function claimOf({ accountId, appId, operation, key }: ClaimKey, row: ClaimRow): Claim {
  return {
    accountId,
    appId,
    operation,
    key,
    version: row.version,
    digest: row.digest,
    subjectId: uuidOfHex(row.subject),
    createdAt: row.created_at,
    leaseExpiresAt: row.lease_expires_at,
    ...(row.boot === '' ? {} : { bootId: uuidOfHex(row.boot) }),
    removeAt: row.remove_at,
  };
}
