import { assert } from '../../core/assert.js';
import type { Claim, ClaimKey } from '../../core/idempotency/claim.js';
import type { ClaimStore } from '../../core/ports/claim-store.js';
import { uuidOfHex } from './uuid-text.js';
import type { SqliteWriter } from './writer.js';

interface ClaimRow {
  readonly version: number;
  readonly digest: string;
  readonly subject: string;
  readonly created_at: number;
  readonly lease_expires_at: number;
  /** Empty in what releases before this one wrote. */
  readonly boot: string;
  readonly remove_at: number;
}

/**
 * Idempotency claims in SQLite. A claim is read only when it conflicts with another, so reads are the answers of
 * writes.
 */
export class SqliteClaimStore implements ClaimStore {
  constructor(private readonly writer: Pick<SqliteWriter, 'write'>) {}

  async insert(
    claim: Claim,
  ): Promise<{ readonly inserted: true } | { readonly inserted: false; readonly existing: Claim }> {
    const {
      accountId,
      appId,
      operation,
      key,
      version,
      digest,
      subjectId,
      createdAt,
      leaseExpiresAt,
      bootId = null,
      removeAt,
    } = claim;
    const result = await this.writer.write(
      'insertClaim',
      accountId,
      appId,
      operation,
      key,
      version,
      digest,
      subjectId,
      createdAt,
      leaseExpiresAt,
      removeAt,
      bootId,
    );
    return result === 1
      ? { inserted: true }
      : { inserted: false, existing: claimOf(claim, JSON.parse(result as string) as ClaimRow) };
  }

  async replace(next: Claim, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const {
      accountId,
      appId,
      operation,
      key,
      version,
      digest,
      subjectId,
      createdAt,
      leaseExpiresAt,
      bootId = null,
      removeAt,
    } = next;
    const changed = await this.writer.write(
      'replaceClaim',
      accountId,
      appId,
      operation,
      key,
      expectedVersion,
      version,
      digest,
      subjectId,
      createdAt,
      leaseExpiresAt,
      removeAt,
      bootId,
    );
    return changed === 1 ? 'applied' : 'conflict';
  }

  async remove(
    { accountId, appId, operation, key }: ClaimKey,
    expectedVersion: number,
  ): Promise<'applied' | 'conflict'> {
    const changed = await this.writer.write('removeClaim', accountId, appId, operation, key, expectedVersion);
    return changed === 1 ? 'applied' : 'conflict';
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    assert(Number.isInteger(limit) && limit >= 1, `a limit is at least 1, not ${limit}`);
    return (await this.writer.write('removeExpiredClaims', now, limit)) as number;
  }
}

function claimOf({ accountId, appId, operation, key }: ClaimKey, row: ClaimRow): Claim {
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
