import { isLeftByAnother } from '../boot.js';
import type { Context } from '../context.js';
import type { GenerationRecord } from '../generation/generation.js';
import { wakeAgain } from '../generation/wake.js';

/** Recovery looks at a leased generation this long after its lease at the latest, and clocks may have been set since. */
const MARGIN_MS = 60_000;

/**
 * Wakes the generations that an earlier boot had leased, instead of leaving them until recovery is to look at them. Goes
 * through all that is to be looked at by the end of a lease given now, page by page, and no further once `goesOn` says no.
 * Leases that were longer, as settings had it then, are found when they lapse. Nothing is written: a wake-up that is lost
 * leaves the generation to recovery.
 */
export async function resumeRuns(context: Context, goesOn: () => boolean): Promise<void> {
  const { generations, clock, settings: { leaseMs, recoveryBatch } } = context;
  const until = clock.now() + leaseMs + MARGIN_MS;
  let page = await generations.due(until, recoveryBatch);
  while (goesOn()) {
    for (const record of page) resume(context, record);
    const last = page.at(-1);
    if (last === undefined || page.length < recoveryBatch) return;
    page = await generations.due(until, recoveryBatch, last);
  }
}

function resume(context: Context, record: GenerationRecord): void {
  if (record.kind === 'generation' && record.lease && isLeftByAnother(context.boot, record.lease.bootId)) wakeAgain(context, record);
}
