import type { Claim } from '../../core/idempotency/claim.js';
import type { AcceptanceBatch, AcceptanceOutcome, AcceptanceStore } from '../../core/ports/stores.js';
import { claimKeyDigest } from '../rows/tables.js';
import type { PostgresDatabase } from './connection.js';
import { changeStatement } from './postgres-account-store.js';
import { claimArrays, INSERT_CLAIMS, type PostgresClaimStore } from './postgres-claim-store.js';
import { generationArrays, insertGenerations, type PostgresGenerationStore } from './postgres-generation-store.js';

interface Stores {
  readonly claims: PostgresClaimStore;
  readonly generations: PostgresGenerationStore;
}

/**
 * Accepts generations in PostgreSQL by one statement, where each step is done only if the one before it was done for all. Claims
 * whose keys were free stay when a later step is not done, as in a chain of single writes.
 */
export class PostgresAcceptances implements AcceptanceStore {
  constructor(
    private readonly db: PostgresDatabase,
    private readonly stores: Stores,
  ) {}

  async accept({ claims, change, generations }: AcceptanceBatch): Promise<AcceptanceOutcome> {
    const hasClaims = claims.length > 0;
    const claimed = hasClaims ? claimArrays(claims) : [];
    const condition = hasClaims ? `AND (SELECT count(*) FROM claimed) = cardinality($1::text[])` : '';
    const { parts, values } = changeStatement(change, claimed, condition);
    const inserted = `inserted AS (${insertGenerations(values.length + 1, 'changed,')})`;
    const all = [...(hasClaims ? [`claimed AS (${INSERT_CLAIMS})`] : []), ...parts, inserted];
    const { rows } = await this.db.ask(
      `WITH ${all.join(', ')} SELECT (SELECT count(*) FROM changed) AS changed, ARRAY(SELECT id::text FROM inserted) AS inserted,
        ${hasClaims ? 'ARRAY(SELECT key_digest FROM claimed)' : 'ARRAY[]::text[]'} AS claimed`,
      [...values, ...generationArrays(generations)],
    );
    const result = rows[0] as unknown as Result;
    if (result.claimed.length < claims.length) return this.taken(claims, result.claimed);
    if (result.changed === 0) return { outcome: 'conflict', claimsStand: hasClaims };
    const own = new Set(result.inserted);
    const taken = generations.filter(({ generationId }) => !own.has(generationId));
    const insertions = await Promise.all(taken.map((generation) => this.stores.generations.insert(generation)));
    return {
      outcome: 'accepted',
      existing: insertions.flatMap((insertion) => (insertion.inserted ? [] : [insertion.existing])),
    };
  }

  private async taken(claims: readonly Claim[], inserted: readonly string[]): Promise<AcceptanceOutcome> {
    const own = new Set(inserted);
    const others = claims.filter((claim) => !own.has(claimKeyDigest(claim)));
    const found = await Promise.all(others.map((claim) => this.stores.claims.read(claim)));
    return { outcome: 'taken', taken: found.filter((claim) => claim !== null), claimsStand: true };
  }
}

interface Result {
  readonly changed: number;
  /** The ids of generations that were free. */
  readonly inserted: readonly string[];
  /** The digests of keys that were free. */
  readonly claimed: readonly string[];
}
