import type { Context } from '../../core/context.js';
import { mayBeMore, Recovery, type Recovered } from '../../core/recovery/recover.js';

/** The maximum number of passes in one run, so that it ends beside a server under load. */
const MAX_PASSES = 100;

const COUNTS = [
  'generations_woken',
  'generations_ended',
  'generations_settled',
  'generations_retired',
  'holds_released',
  'holds_settled',
  'uploads_swept',
  'uploads_removed',
  'claims_removed',
  'artefacts_removed',
  'deliveries_woken',
  'deliveries_removed',
  'failed',
] as const;
export type RecoveredTotals = Record<(typeof COUNTS)[number], number>;

/**
 * Completes interrupted work, pass after pass, until nothing is left that existed at the beginning, or until its call
 * is over. Throws as a pass does.
 */
export async function recoverAll(context: Context): Promise<RecoveredTotals> {
  const recovery = new Recovery(context);
  const listenNoMore = context.call?.onOver(() => recovery.stop());
  const total = Object.fromEntries(COUNTS.map((name) => [name, 0])) as RecoveredTotals;
  try {
    for (let passes = 0; passes < MAX_PASSES; passes += 1) {
      const done = await recovery.pass();
      add(total, done);
      if (!mayBeMore(done, context.settings.recoveryBatch) && done.holds.nextCursor === undefined) break;
    }
  } finally {
    listenNoMore?.();
  }
  return total;
}

function add(
  total: RecoveredTotals,
  { generations: g, holds, uploads, deliveries, claimsRemoved, artefactsRemoved }: Recovered,
): void {
  total.generations_woken += g.woken;
  total.generations_ended += g.ended;
  total.generations_settled += g.settled;
  total.generations_retired += g.retired;
  total.holds_released += holds.released;
  total.holds_settled += holds.settled;
  total.uploads_swept += uploads.swept;
  total.uploads_removed += uploads.removed;
  total.claims_removed += claimsRemoved;
  total.artefacts_removed += artefactsRemoved;
  total.deliveries_woken += deliveries.woken;
  total.deliveries_removed += deliveries.removed;
  total.failed += g.failed + holds.failed + uploads.failed + deliveries.failed;
}
