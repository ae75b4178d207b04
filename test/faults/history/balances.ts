import type { Entry } from '../../../core/credits/account.js';
import type { Facts, Span } from './history.js';

/** Processes and test share one clock, and round it. */
const CLOCKS_MS = 100;

/**
 * Whether an account may have had, at some moment of a span, an amount available that fits. An entry says when it was
 * decided; it is written after that, at the latest when the next one that says a later time was decided on it. An
 * amount counts from its entry's time until the next entry must have been written.
 */
export function mayHaveHad(
  entries: readonly Entry[],
  facts: Facts,
  { from, until }: Span,
  fits: (available: number) => boolean,
): boolean {
  return entries.some((entry, index) => {
    if (!fits(entry.availableAfter) || entry.at > until + CLOCKS_MS) return false;
    const next = entries[index + 1];
    return !next || writtenBy(entries, index + 1, facts) + CLOCKS_MS >= from;
  });
}

function writtenBy(entries: readonly Entry[], index: number, facts: Facts): number {
  const { at = 0 } = entries[index] ?? {};
  // Those that one write brought say the same time.
  const later = entries.slice(index + 1).find((entry) => entry.at > at)?.at ?? Infinity;
  return Math.min(later, lateAt(at, facts));
}

/** By when what was decided has been written: soon, unless a store was away or a process stood still meanwhile. */
function lateAt(at: number, { troubles, writingMs }: Facts): number {
  let until = at + writingMs;
  for (const trouble of troubles.toSorted((a, b) => a.from - b.from)) {
    if (trouble.from <= until && trouble.until >= at) until = Math.max(until, trouble.until + writingMs);
  }
  return until;
}
