import { ClientAbsent } from './foreign-client.js';

/** What a suite runs, or the suite skipped with a sentence where it is not on this machine. */
export async function orSkip<T>(suite: Pick<Mocha.Context, 'skip'>, get: () => T | Promise<T>): Promise<T> {
  try {
    return await get();
  } catch (error) {
    if (!(error instanceof ClientAbsent)) throw error;
    console.log(`  Skipped: ${error.message}`);
    return suite.skip();
  }
}
