import type { Context } from '../context.js';
import { isTerminal } from '../generation/generation.js';
import { settleGeneration } from '../generation/settle-generation.js';
import { voidGeneration } from '../generation/void-generation.js';

export interface HoldsRecovered {
  released: number;
  settled: number;
  failed: number;
  /** Where the next pass continues; absent when this one saw the last hold. */
  nextCursor?: string;
}

/**
 * Examines holds older than any request may take. A hold without a generation belongs to an interrupted create: its id
 * is precluded, then the hold released, in that order, so that the create has no effect if it continues after all. One
 * pass takes at most `recoveryBatch`; give its cursor to the next. Ends early once `shouldContinue` returns false.
 */
export async function recoverHolds(
  context: Context,
  cursor: string | undefined,
  shouldContinue: () => boolean,
): Promise<HoldsRecovered> {
  const { accounts, clock, settings } = context;
  const done: HoldsRecovered = { released: 0, settled: 0, failed: 0 };
  const heldBefore = clock.now() - settings.claimLeaseMs - settings.recoveryGraceMs;
  const page = await accounts.holdsBefore(heldBefore, {
    limit: settings.recoveryBatch,
    ...(cursor === undefined ? {} : { cursor }),
  });
  for (const hold of page.items) {
    if (!shouldContinue()) break;
    try {
      const outcome = await recoverHold(context, hold.accountId, hold.generationId);
      if (outcome) done[outcome] += 1;
    } catch (error) {
      done.failed += 1;
      context.log.warn('hold not recovered', { accountId: hold.accountId, generationId: hold.generationId, error });
    }
  }
  return page.nextCursor === undefined ? done : { ...done, nextCursor: page.nextCursor };
}

async function recoverHold(
  context: Context,
  accountId: string,
  generationId: string,
): Promise<'released' | 'settled' | null> {
  const known = await context.generations.read(generationId);
  const standing = known ?? (await voidGeneration(context, { generationId, accountId, appId: '' }));
  if (standing.kind !== 'generation') {
    await context.accountWriter.execute(accountId, { kind: 'settle', generationId, charge: 0 });
    return 'released';
  }
  if (!isTerminal(standing.status)) return null;
  if (standing.settledAt === undefined) await settleGeneration(context, standing);
  else {
    const { chargedCredits: charge, status } = standing;
    await context.accountWriter.execute(accountId, {
      kind: 'settle',
      generationId,
      charge,
      failed: status === 'failed',
    });
  }
  return 'settled';
}
