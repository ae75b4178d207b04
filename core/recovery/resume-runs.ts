import { isLeftByAnother } from '../boot.js';
import type { Context } from '../context.js';
import type { Generation } from '../generation/generation.js';
import { pause } from '../pause.js';

/**
 * Recovery looks at a leased generation this long after its lease at the latest, and clocks may have been set since.
 */
const MARGIN_MS = 60_000;

/** Has a generation taken over by this process; it stands in line, or has its place, when the call returns. */
export type TakeOver = (generation: Generation) => Promise<void>;

/**
 * Hands over the generations that an earlier boot had leased, instead of leaving them until recovery is to look at
 * them. Goes through all that is to be looked at by the end of a lease given now, page by page, and no further once
 * `goesOn` says no. Leases that were longer, as settings had it then, are found when they lapse. Nothing is written:
 * what is not taken over after all is left to recovery.
 */
export async function resumeRuns(context: Context, takeOver: TakeOver, goesOn: () => boolean): Promise<void> {
  const {
    boot,
    generations,
    clock,
    log,
    settings: { leaseMs, recoveryBatch },
  } = context;
  const until = clock.now() + leaseMs + MARGIN_MS;
  let page = await generations.due(until, recoveryBatch);
  while (goesOn()) {
    for (const record of page) {
      if (record.kind !== 'generation' || !record.lease || !isLeftByAnother(boot, record.lease.bootId)) continue;
      takeOver(record).catch((error: unknown) =>
        log.warn('cut run not taken over', { generationId: record.generationId, error }),
      );
    }
    const last = page.at(-1);
    if (last === undefined || page.length < recoveryBatch) return;
    // Stores that answer at once would keep everything else waiting until the last page.
    await pause(clock, 0);
    page = await generations.due(until, recoveryBatch, last);
  }
}
