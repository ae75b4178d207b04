/** A stretch of time. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

/** Whether any of them has a moment in common with this one. */
export function touches(spans: readonly Span[], { from, until }: Span): boolean {
  return spans.some((span) => span.from <= until && span.until >= from);
}

/** The longest stretch of one span, in milliseconds, that none of the others has a moment in. */
export function longestGapMs(spans: readonly Span[], { from, until }: Span): number {
  let longest = 0;
  let free = from;
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    longest = Math.max(longest, Math.min(span.from, until) - free);
    free = Math.max(free, span.until);
  }
  return Math.max(longest, until - free);
}
