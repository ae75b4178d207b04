import type { Finding } from '../../../history/finding.js';
import type { Known } from '../known.js';

/** Invariant 24: no key spends more in a month than its cap, and its account counts the same at rest. */
export function* checkCaps(known: Known): Iterable<Finding> {
  for (const { accountId, entries, capUses } of known.history.atRest.accounts) {
    const uses = known.capUses();
    for (const entry of entries) yield* uses.add(entry);
    yield* uses.check(accountId, capUses?.values() ?? []);
  }
}
