import { checkEnd } from '../../../history/ends.js';
import type { Finding } from '../../../history/finding.js';
import { checkShape } from '../../../history/record-shape.js';
import type { Known } from '../known.js';

/** Invariants 6, 7, 9 and 20: once nothing fails any more everything ends within its deadline, and is settled. */
export function* checkRest(known: Known): Iterable<Finding> {
  const { quietAt, troubledUntil, slackMs } = known.history.facts;
  const calm = { from: Math.max(quietAt, troubledUntil), slackMs };
  for (const generation of known.generations()) {
    const { completedAt: endedAt, settledAt } = generation;
    yield* checkEnd(generation, { endedAt, settledAt }, calm);
    yield* checkShape(generation);
  }
}
