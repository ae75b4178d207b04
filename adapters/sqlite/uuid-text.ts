const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether the text is a UUID as we write them. SQL's `unhex` is more lenient, so lookups ask this first. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** The UUID whose 32 hex digits SQL's `hex` gave. */
export function uuidOfHex(hex: string): string {
  const digits = hex.toLowerCase();
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`;
}
