import type { Finding } from '../../history/finding.js';
import { Violation } from '../observed.js';

/**
 * Says what is broken when something does not hold. The sentence is made only then: most checks run after every call.
 */
export function demand(holds: boolean, invariant: number, what: () => string): asserts holds {
  if (!holds) throw new Violation(invariant, what());
}

/** The same for a rule of `test/history`: what it finds first is the violation. */
export function demandNone(findings: Iterable<Finding>): void {
  for (const { invariant, sentence } of findings) throw new Violation(invariant, sentence);
}
