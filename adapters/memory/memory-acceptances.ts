import type { AcceptanceBatch, AcceptanceOutcome, AcceptanceStore } from '../../core/ports/stores.js';
import type { MemoryAccountStore } from './memory-account-store.js';
import type { MemoryClaimStore } from './memory-claim-store.js';
import type { MemoryGenerationStore } from './memory-generation-store.js';

interface Stores {
  readonly claims: MemoryClaimStore;
  readonly accounts: MemoryAccountStore;
  readonly generations: MemoryGenerationStore;
}

/** Accepts generations in this process's memory: all at once, or nothing. */
export class MemoryAcceptances implements AcceptanceStore {
  constructor(private readonly stores: Stores) {}

  async accept({ claims, change, generations }: AcceptanceBatch): Promise<AcceptanceOutcome> {
    const { stores } = this;
    const taken = claims.flatMap((claim) => stores.claims.at(claim) ?? []);
    if (taken.length > 0) return { outcome: 'taken', taken, claimsStand: false };
    if (stores.accounts.versionOf(change.accountId) !== change.expectedVersion)
      return { outcome: 'conflict', claimsStand: false };
    // Each call writes before it returns, so that nothing comes in between.
    const claimed = claims.map(async (claim) => stores.claims.insert(claim));
    const applied = stores.accounts.apply(change);
    const inserted = generations.map(async (one) => stores.generations.insert(one));
    await Promise.all([...claimed, applied]);
    const existing = (await Promise.all(inserted)).flatMap((outcome) => (outcome.inserted ? [] : [outcome.existing]));
    return { outcome: 'accepted', existing };
  }
}
