import type { Boot } from '../boot.js';
import type { Generation } from './generation.js';

/** The clock, the time to stamp on the generation, which is never before the stored one, and the boot that decides. */
export interface Occasion {
  readonly now: number;
  readonly at: number;
  readonly boot: Boot;
}

/**
 * `NOT_ALLOWED`: the table has no such step from here. `FENCE_STALE`: another worker has taken over. `LEASE_HELD`: a
 * live lease, or the wait for the next attempt, prevents it. `DEADLINE_PASSED`: too late to continue. `LAST_POLL_DUE`: the
 * provider may have the result, and has to be polled once more first. `NOTHING_TO_DO`: the generation is already as requested.
 */
export type GenerationRefusal =
  | 'NOT_ALLOWED'
  | 'FENCE_STALE'
  | 'LEASE_HELD'
  | 'DEADLINE_PASSED'
  | 'LAST_POLL_DUE'
  | 'NOTHING_TO_DO';

export type Changed = { readonly refused: GenerationRefusal } | { readonly next: Generation };
