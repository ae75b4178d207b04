/**
 * Stops the operation when something that must hold does not. Assertions stay on in production: a wrong balance that is
 * caught is an outage of one request, a wrong balance that is not caught is a lost charge.
 */
export function assert(condition: unknown, claim: string): asserts condition {
  if (!condition) throw new Error(`Broken invariant: ${claim}`);
}
