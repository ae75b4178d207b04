import type { AcceptanceBatch, AcceptanceOutcome, AcceptanceStore } from '../ports/stores.js';
import type { Ports } from '../ports/ports.js';

/** Accepts with one write after the other, on stores that are atomic for one record only. */
export class StepwiseAcceptances implements AcceptanceStore {
  constructor(private readonly stores: Pick<Ports, 'claims' | 'accounts' | 'generations'>) {}

  async accept({ claims, change, generations }: AcceptanceBatch): Promise<AcceptanceOutcome> {
    const claimed = await settled(claims.map(async (claim) => this.stores.claims.insert(claim)));
    const taken = claimed.flatMap((outcome) => (outcome.inserted ? [] : [outcome.existing]));
    if (taken.length > 0) return { outcome: 'taken', taken, claimsStand: true };
    if ((await this.stores.accounts.apply(change)) === 'conflict') return { outcome: 'conflict', claimsStand: true };
    const inserted = await settled(generations.map(async (one) => this.stores.generations.insert(one)));
    return {
      outcome: 'accepted',
      existing: inserted.flatMap((outcome) => (outcome.inserted ? [] : [outcome.existing])),
    };
  }
}

/** The answers to concurrent writes, once none is on its way any more. Throws the first failure. */
async function settled<T>(writes: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(writes);
  return Promise.all(writes);
}
