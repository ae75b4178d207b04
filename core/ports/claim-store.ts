import type { Claim, ClaimKey } from '../idempotency/claim.js';

/**
 * Keeps idempotency claims, one a key. Each method is atomic for one key. Every method may throw `StoreUnavailable`;
 * the outcome of a write that does is unknown.
 */
export interface ClaimStore {
  /** Inserts the claim if its key is free; durable on return. Otherwise returns the claim that has the key. */
  insert(claim: Claim): Promise<{ readonly inserted: true } | { readonly inserted: false; readonly existing: Claim }>;

  /** The newest committed claim of the key, or null. A process reads its own writes. */
  read(key: ClaimKey): Promise<Claim | null>;

  /** Replaces the claim of the same key if its version still is `expectedVersion`. Durable on return. */
  replace(next: Claim, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Frees the key if the claim's version still is `expectedVersion`. Durable on return. */
  remove(key: ClaimKey, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Removes claims whose `removeAt` is at or before `now`, at most `limit`; returns how many. */
  removeExpired(now: number, limit: number): Promise<number>;
}
