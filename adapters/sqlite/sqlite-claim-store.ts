import { assert } from '../../core/assert.js';
import type { Claim, ClaimKey } from '../../core/idempotency/claim.js';
import type { ClaimStore } from '../../core/ports/claim-store.js';
import { CLAIM_OF_KEY, KEY_FIELDS } from './claim-writes.js';
import type { SqlValue } from './driver.js';
import type { Query, SqliteReader } from './reader.js';
import { uuidOfHex } from './uuid-text.js';
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

  async insert(
    claim: Claim,
  ): Promise<{ readonly inserted: true } | { readonly inserted: false; readonly existing: Claim }> {
    const result = await this.writer.write('insertClaim', ...claimValues(claim));
    return result === 1
      ? { inserted: true }
      : { inserted: false, existing: claimOf(claim, JSON.parse(result as string) as ClaimRow) };
  }

  async read(key: ClaimKey): Promise<Claim | null> {
    const row = this.byKey.get(key.accountId, key.appId, key.operation, key.key);
    return row === undefined ? null : claimOf(key, row as unknown as ClaimRow);
  }

  async replace(next: Claim, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const values = claimValues(next);
    const [key, content] = [values.slice(0, KEY_FIELDS), values.slice(KEY_FIELDS)];
    const changed = await this.writer.write('replaceClaim', ...key, expectedVersion, ...content);
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

/** The arguments of `insertClaim`: the key, and then what `replaceClaim` writes. */
export function claimValues({
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
}: Omit<Claim, 'bootId'> & { readonly bootId?: string | null }): SqlValue[] {
  return [accountId, appId, operation, key, version, digest, subjectId, createdAt, leaseExpiresAt, removeAt, bootId];
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
