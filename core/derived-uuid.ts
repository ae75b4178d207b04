/** A UUID of version 8 (RFC 9562) of the first bits of a digest in hex, of at least 32 digits. */
export function derivedUuid(hex: string): string {
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join('-');
}

/** Whether an id was derived: those that are drawn are of other versions. */
export function isDerivedUuid(id: string): boolean {
  return id[14] === '8';
}
