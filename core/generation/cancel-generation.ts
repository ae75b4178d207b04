import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { changeGeneration } from './change-generation.js';
import { wake } from './wake.js';
import type { Generation } from './generation.js';
import { getGeneration } from './get-generation.js';
import { settleNowOrSoon } from './settle-generation.js';

/**
 * Cancels the caller's own generation. A queued one ends immediately and costs nothing; a running one is asked to stop
 * and may still be running in the answer; one that has ended stays as it is. Throws TASK_NOT_FOUND, also for one past
 * its retention: there is nothing left to cancel.
 */
export function cancelGeneration(context: Context, caller: Caller, generationId: string): Promise<Generation> {
  return cancel(context, caller, generationId).catch(asTaskNotFound);
}

async function cancel(context: Context, caller: Caller, generationId: string): Promise<Generation> {
  return cancelFound(context, await getGeneration(context, caller, generationId));
}

/**
 * The same for a generation that has been read, without a check of its owner. Throws GENERATION_JOB_NOT_FOUND if it has
 * been removed meanwhile.
 */
export async function cancelFound(context: Context, found: Generation): Promise<Generation> {
  const { generation, refused } = await changeGeneration(context, found, { event: 'cancel' });
  if (refused) return generation;
  if (generation.status === 'running') wake(context, generation.generationId, context.clock.now());
  if (generation.status !== 'cancelled') return generation;
  return settleNowOrSoon(context, generation);
}

function asTaskNotFound(error: unknown): never {
  throw error instanceof ServiceError && error.code === 'GENERATION_JOB_NOT_FOUND'
    ? new ServiceError('TASK_NOT_FOUND')
    : error;
}
