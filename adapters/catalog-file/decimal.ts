/**
 * A decimal number as it was written, times 10 to the power of `places`, exactly; undefined when it is negative,
 * written in another way, has more places, or would not fit a safe integer.
 */
export function scaledDecimal(text: string, places: number): number | undefined {
  const match = /^([0-9]+)(?:\.([0-9]+))?$/.exec(text);
  const fraction = match?.[2] ?? '';
  if (!match || fraction.length > places) return undefined;
  const scaled = BigInt(match[1] + fraction.padEnd(places, '0'));
  return scaled <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(scaled) : undefined;
}
