/** A time as the page reads it (RFC 3339, UTC); null where there is none. */
export function shownTime(epochMs: number | undefined): string | null {
  return epochMs === undefined ? null : new Date(epochMs).toISOString();
}
