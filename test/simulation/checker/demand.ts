import { Violation } from '../observed.js';

/**
 * Says what is broken when something does not hold. The sentence is made only then: most checks run after every call.
 */
export function demand(holds: boolean, invariant: number, what: () => string): asserts holds {
  if (!holds) throw new Violation(invariant, what());
}
