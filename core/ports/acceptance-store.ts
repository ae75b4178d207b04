import type { AccountChange } from '../credits/account.js';
import type { Generation, GenerationRecord } from '../generation/generation.js';
import type { Claim } from '../idempotency/claim.js';

/** Generations of one account that are to be accepted together. */
export interface AcceptanceBatch {
  /** Of the keys that are not claimed yet, each another one; at most 250. */
  readonly claims: readonly Claim[];
  /** Opens a hold for each of the generations, and may hold other changes of the account. */
  readonly change: AccountChange;
  /** At least one and at most 250, each with another id. */
  readonly generations: readonly Generation[];
}

/** `claimsStand`: the claims of the batch whose keys were free are stored; leave them out of the next batch. */
export type AcceptanceOutcome =
  /** All is stored, but for generations whose id has another record: those records, whose holds are to be released. */
  | { readonly outcome: 'accepted'; readonly existing: readonly GenerationRecord[] }
  /** The account's version is another one. */
  | { readonly outcome: 'conflict'; readonly claimsStand: boolean }
  /** Some keys have claims already: those claims. Neither the change nor a generation is stored. */
  | { readonly outcome: 'taken'; readonly taken: readonly Claim[]; readonly claimsStand: boolean };

/**
 * Accepts generations: a chain of writes of single records, in the order claims, account, generations. Each write is
 * conditional and durable before the next one, so that a crash leaves a prefix of the chain and nothing else. The claims
 * among themselves, and the generations, have no order. A store that can writes all of it at once, or nothing.
 */
export interface AcceptanceStore {
  /**
   * Stores the claims whose keys are free, then the change if the account's version is `expectedVersion`, then the
   * generations whose ids are free. Durable on return. No generation is inserted after a change that was not applied.
   * Throws `StoreUnavailable`: then any prefix may be stored.
   */
  accept(batch: AcceptanceBatch): Promise<AcceptanceOutcome>;
}
