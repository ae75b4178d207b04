import type { AcceptanceBatch, AcceptanceOutcome, AcceptanceStore } from '../../core/ports/stores.js';
import { claimKeyDigest } from '../rows/tables.js';
import type { AccountChanges } from './account-changes.js';
import type { PostgresClaimStore } from './postgres-claim-store.js';
import type { PostgresGenerationStore } from './postgres-generation-store.js';

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
    private readonly changes: AccountChanges,
    private readonly stores: Stores,
  ) {}

  async accept(batch: AcceptanceBatch): Promise<AcceptanceOutcome> {
    const { claims, generations } = batch;
    const { isChanged, claimed, inserted } = await this.changes.write(batch);
    const others = claims.filter((claim) => !claimed.has(claimKeyDigest(claim)));
    if (others.length > 0) {
      const found = await Promise.all(others.map((claim) => this.stores.claims.read(claim)));
      return { outcome: 'taken', taken: found.filter((claim) => claim !== null), claimsStand: true };
    }
    if (!isChanged) return { outcome: 'conflict', claimsStand: claims.length > 0 };
    const taken = generations.filter(({ generationId }) => !inserted.has(generationId));
    const insertions = await Promise.all(taken.map((generation) => this.stores.generations.insert(generation)));
    return {
      outcome: 'accepted',
      existing: insertions.flatMap((insertion) => (insertion.inserted ? [] : [insertion.existing])),
    };
  }
}
