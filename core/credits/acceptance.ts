import type { Generation } from '../generation/generation.js';
import type { Claim } from '../idempotency/claim.js';

/** A generation that is to be accepted once its price is held, under the key that it was requested with. */
export class Acceptance {
  /** `claimStands`: the claim is stored already, because it was taken over from another process. */
  constructor(
    readonly claim: Claim,
    readonly generation: Generation,
    public claimStands = false,
  ) {}
}
