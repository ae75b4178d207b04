import { assert } from '../../core/assert.js';
import type { Claim, ClaimKey } from '../../core/idempotency/claim.js';
import type { ClaimStore, Insertion } from '../../core/ports/stores.js';
import { claimKeyDigest } from '../rows/tables.js';
import { arraysOf, CLAIMS, unnest } from './columns.js';
import type { PostgresDatabase } from './connection.js';
import { insertOrFind, outcomeOf } from './postgres-records.js';

const GIVEN = [['key_digest', 'text'] as const, ...CLAIMS.typed];
const READ = `${CLAIMS.selection} WHERE key_digest = decode($1, 'hex')`;
const REPLACE = `UPDATE darkroom.claims SET ${CLAIMS.assigned(3)} WHERE key_digest = decode($1, 'hex') AND version = $2`;
const REMOVE = `DELETE FROM darkroom.claims WHERE key_digest = decode($1, 'hex') AND version = $2`;
const REMOVE_EXPIRED = `DELETE FROM darkroom.claims WHERE key_digest = ANY (ARRAY(
  SELECT key_digest FROM darkroom.claims WHERE remove_at <= $1 ORDER BY remove_at LIMIT $2 FOR UPDATE SKIP LOCKED))`;

const INSERT = `INSERT INTO darkroom.claims (key_digest, ${CLAIMS.names})
  SELECT decode(given.key_digest, 'hex'), ${CLAIMS.of('given')} FROM ${unnest(GIVEN, 1, 'given')} ON CONFLICT DO NOTHING`;

/** Idempotency claims in PostgreSQL. */
export class PostgresClaimStore implements ClaimStore {
  constructor(private readonly db: PostgresDatabase) {}

  insert(claim: Claim): Promise<Insertion<Claim>> {
    return insertOrFind(
      async () =>
        (await this.db.ask(INSERT, arraysOf(GIVEN, [[claimKeyDigest(claim), ...CLAIMS.valuesOf(claim)]]))).rowCount ===
        1,
      () => this.read(claim),
    );
  }

  async read(key: ClaimKey): Promise<Claim | null> {
    const { rows } = await this.db.ask(READ, [claimKeyDigest(key)]);
    const { accountId, appId, operation, key: text } = key;
    return rows[0] === undefined ? null : { accountId, appId, operation, key: text, ...CLAIMS.recordOf(rows[0]) };
  }

  async replace(next: Claim, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const values = [claimKeyDigest(next), expectedVersion, ...CLAIMS.valuesOf(next)];
    return outcomeOf((await this.db.ask(REPLACE, values)).rowCount);
  }

  async remove(key: ClaimKey, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return outcomeOf((await this.db.ask(REMOVE, [claimKeyDigest(key), expectedVersion])).rowCount);
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    assert(Number.isInteger(limit) && limit >= 1, `a limit is at least 1, not ${limit}`);
    return (await this.db.ask(REMOVE_EXPIRED, [now, limit])).rowCount;
  }

  /** A row has digests of its key and its request, and neither the account nor a text of the client. */
  removeOfAccount(): Promise<number> {
    return Promise.resolve(0);
  }
}
