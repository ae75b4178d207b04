import { requireWanted } from '../cancellation.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { cancelFound } from './cancel-generation.js';
import { isTerminal } from './generation.js';

/** How many are cancelled concurrently; their settlements are then written together. */
const AT_ONCE = 20;

export interface CancelledWork {
  /** Ended by this call. */
  readonly cancelled: number;
  /** Asked to stop, and still running. */
  readonly stopping: number;
  /**
   * Held, but without a generation to cancel yet: a create is in progress, or was interrupted and recovery will release
   * the hold.
   */
  readonly unfinished: number;
}

/**
 * Cancels every open generation of an account, as their clients could. The account's holds list them, so that on a
 * suspended account none is missed, and their cap bounds the work. Safe to repeat, which completes an interrupted call.
 * Throws NOT_FOUND, and `CallOver` between two of them.
 */
export async function cancelOpenGenerations(context: Context, accountId: string): Promise<CancelledWork> {
  const account = await context.accounts.read(accountId);
  if (!account) throw new ServiceError('NOT_FOUND', `There is no account ${accountId}.`);
  const ids = [...account.holds.keys()];
  const done = { cancelled: 0, stopping: 0, unfinished: 0 };
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    requireWanted(context.call);
    const outcomes = await Promise.all(
      ids.slice(at, at + AT_ONCE).map((generationId) => cancelOpen(context, generationId)),
    );
    for (const outcome of outcomes) if (outcome !== 'ended before') done[outcome] += 1;
  }
  return done;
}

async function cancelOpen(context: Context, generationId: string): Promise<keyof CancelledWork | 'ended before'> {
  const record = await context.generations.read(generationId);
  if (record?.kind !== 'generation') return 'unfinished';
  if (isTerminal(record.status)) return 'ended before';
  const { status } = await cancelFound(context, record);
  if (status === 'cancelled') return 'cancelled';
  return status === 'running' ? 'stopping' : 'ended before';
}
