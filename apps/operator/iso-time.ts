/** A time as machines and operators read it (RFC 3339, UTC). */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** Its UTC day. */
export function isoDate(atMs: number): string {
  return isoTime(atMs).slice(0, 10);
}
