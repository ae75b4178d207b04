import type { Entry } from '../../../core/credits/account.js';
import type { Facts } from './history.js';
import type { Span } from './spans.js';

/** Processes and test share one clock, and round it. */
const CLOCKS_MS = 100;

/** An amount, and when an account may have had it available. */
export interface Available extends Span {
  readonly amount: number;
}

/**
 * What an account may have had available, and when. An entry says when it was decided; it is written after that, at the
 * latest when the next one that says a later time was decided on it. An amount counts from its entry's time until the
 * next entry must have been written.
 */
export function availableOver(entries: readonly Entry[], { troubles, writingMs }: Facts): Available[] {
  const inOrder = troubles.toSorted((a, b) => a.from - b.from);
  const writtenBy = entries.map(({ at }, index) => {
    // Entries of one write say the same time.
    const laterAt = entries.find((other, place) => place > index && other.at > at)?.at ?? Infinity;
    return Math.min(laterAt, writtenAt(at, inOrder, writingMs));
  });
  return entries.map(({ at, availableAfter }, index) => ({
    amount: availableAfter,
    from: at - CLOCKS_MS,
    until: (writtenBy[index + 1] ?? Infinity) + CLOCKS_MS,
  }));
}

/** By when what was decided has been written: soon, unless a store was away or a process stood still meanwhile. */
function writtenAt(at: number, troubles: readonly Span[], writingMs: number): number {
  let until = at + writingMs;
  for (const trouble of troubles) {
    if (trouble.from <= until && trouble.until >= at) until = Math.max(until, trouble.until + writingMs);
  }
  return until;
}
