import type { RootHookObject, Context } from 'mocha';
import { isFullRun } from './run-sizes.js';

/** A full run repeats checks many times, on machines of any speed: its limit only ends hanging tests. */
const FULL_RUN_LIMIT_MS = 2 * 3_600_000;

/** Required by `.mocharc.json`, in each process that runs tests. */
export const mochaHooks: RootHookObject = {
  beforeEach(this: Context) {
    const test = this.currentTest;
    if (isFullRun() && test && test.timeout() > 0) test.timeout(Math.max(test.timeout(), FULL_RUN_LIMIT_MS));
  },
};
