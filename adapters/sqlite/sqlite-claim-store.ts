import { assert } from '../../core/assert.js';
import type { Claim, ClaimKey } from '../../core/idempotency/claim.js';
import type { ClaimStore, Insertion } from '../../core/ports/stores.js';
import { claimKeyDigest } from '../rows/tables.js';
import { CLAIM_OF_KEY, CLAIMS } from './columns.js';
import type { Row, SqlValue } from './database.js';
import type { Connections } from './reader.js';
import { applied } from './writer.js';

/** Idempotency claims in SQLite. */
export class SqliteClaimStore implements ClaimStore {
  constructor(private readonly db: Connections) {}

  async insert(claim: Claim): Promise<Insertion<Claim>> {
    const result = await this.db.writer.write('insertClaim', ...claimValues(claim));
    return result === 1
      ? { inserted: true }
      : { inserted: false, existing: claimOf(claim, JSON.parse(result as string) as Row) };
  }

  async read(key: ClaimKey): Promise<Claim | null> {
    const row = this.db.reader.get(CLAIM_OF_KEY, claimKeyDigest(key));
    return row === undefined ? null : claimOf(key, row);
  }

  replace(next: Claim, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const sql = `UPDATE claims SET ${CLAIMS.assigned} WHERE key_digest = unhex(?) AND version = ?`;
    return applied(this.db.writer.run(sql, ...CLAIMS.valuesOf(next), claimKeyDigest(next), expectedVersion));
  }

  remove(key: ClaimKey, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const sql = 'DELETE FROM claims WHERE key_digest = unhex(?) AND version = ?';
    return applied(this.db.writer.run(sql, claimKeyDigest(key), expectedVersion));
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    assert(Number.isInteger(limit) && limit >= 1, `a limit is at least 1, not ${limit}`);
    const expired = 'SELECT row FROM claims WHERE remove_at <= ? ORDER BY remove_at LIMIT ?';
    return this.db.writer.run(`DELETE FROM claims WHERE row IN (${expired})`, now, limit);
  }

  /** A row has digests of its key and its request, and neither the account nor a text of the client. */
  removeOfAccount(): Promise<number> {
    return Promise.resolve(0);
  }
}

/** The arguments of `insertClaim`. */
export function claimValues(claim: Claim): SqlValue[] {
  return [claimKeyDigest(claim), ...CLAIMS.valuesOf(claim)];
}

export function claimOf({ accountId, appId, operation, key }: ClaimKey, row: Row): Claim {
  return { accountId, appId, operation, key, ...CLAIMS.recordOf(row) };
}
