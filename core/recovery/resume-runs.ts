import { isLeftByAnother } from '../boot.js';
import type { Context } from '../context.js';
import type { Generation } from '../generation/generation.js';
import { pause } from '../pause.js';

/**
 * Recovery examines a leased generation this long after its lease at the latest, and clocks may have been set since.
 */
const MARGIN_MS = 60_000;

/** As many queued generations as are resumed, and held in memory for it, at most; recovery finds the others. */
const MAX_QUEUED = 10_000;

/** Makes this process take over a generation; it is queued, or has its place, when the call returns. */
export type TakeOver = (generation: Generation) => Promise<void>;

/**
 * Hands over the generations that an earlier boot had leased, and then those that it had queued, instead of waiting until
 * recovery examines them: of what a boot begins at once no wake-up is stored. Reads all that are due by the end of a lease
 * given now, page by page, until `shouldContinue` returns false. Longer leases from earlier settings are found when they
 * lapse. Nothing is written: recovery handles those that are not taken over after all.
 */
export async function resumeRuns(context: Context, takeOver: TakeOver, shouldContinue: () => boolean): Promise<void> {
  const {
    boot,
    generations,
    clock,
    log,
    settings: { leaseMs, recoveryBatch },
  } = context;
  const until = clock.now() + leaseMs + MARGIN_MS;
  const resume = (record: Generation): void => {
    takeOver(record).catch((error: unknown) =>
      log.warn('interrupted run not taken over', { generationId: record.generationId, error }),
    );
  };
  const queued: Generation[] = [];
  let page = await generations.due(until, recoveryBatch);
  while (shouldContinue()) {
    for (const record of page) {
      if (record.kind !== 'generation') continue;
      if (record.lease && isLeftByAnother(boot, record.lease.bootId)) resume(record);
      else if (record.status === 'queued' && queued.length < MAX_QUEUED) queued.push(record);
    }
    const last = page.at(-1);
    if (last === undefined || page.length < recoveryBatch) break;
    // With stores that answer synchronously everything else would wait until the last page.
    await pause(clock, 0);
    page = await generations.due(until, recoveryBatch, last);
  }
  if (shouldContinue()) for (const record of queued) resume(record);
}
