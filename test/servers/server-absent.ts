/** A server that a test needs is not available; the message is a sentence with the ways to get it. */
export class ServerAbsent extends Error {}

/** Whether every server must be available: in CI, nobody looks at skipped suites. */
export function isCi(): boolean {
  return !['', '0', 'false', undefined].includes(process.env['CI']);
}

/** The part of a mocha hook's context that skips its suite. */
interface Suite {
  skip(): void;
}

const told = new Set<string>();

/**
 * Returns a server, or skips the suite with a sentence if there is none: `server = await orSkip(this,
 * mongoServer('standalone'))` in a `before` hook, whose `after` must then cope without it. In CI an absent server fails
 * the suite.
 */
export async function orSkip<T>(suite: Suite, server: Promise<T>): Promise<T> {
  try {
    return await server;
  } catch (error) {
    if (!(error instanceof ServerAbsent) || isCi()) throw error;
    if (!told.has(error.message)) console.log(`  Skipped: ${error.message}`);
    told.add(error.message);
    suite.skip();
    // Mocha's own skip has thrown; this is for the type.
    throw error;
  }
}
