import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { isUuid } from '../uuid.js';
import type { Generation } from './generation.js';

/**
 * The caller's own generation. Throws TASK_NOT_FOUND alike for an unknown id, a malformed id and another owner's
 * generation, and GENERATION_JOB_NOT_FOUND for the caller's own that was
 * deleted or is past its retention.
 */
export async function getGeneration(
  context: Pick<Context, 'generations' | 'call'>,
  caller: Caller,
  generationId: string,
): Promise<Generation> {
  const generation = await getRecord(context, caller, generationId);
  if (generation.deletedAt !== undefined) throw new ServiceError('GENERATION_JOB_NOT_FOUND');
  return generation;
}

/** The same, also of one whose deletion is not complete, which nobody may be shown. */
export async function getRecord(
  context: Pick<Context, 'generations' | 'call'>,
  caller: Caller,
  generationId: string,
): Promise<Generation> {
  const record = isUuid(generationId) ? await context.generations.read(generationId.toLowerCase(), context.call) : null;
  const isOwn = record !== null && record.accountId === caller.accountId && record.appId === caller.appId;
  if (!isOwn || record.kind === 'void') throw new ServiceError('TASK_NOT_FOUND');
  if (record.kind !== 'generation') throw new ServiceError('GENERATION_JOB_NOT_FOUND');
  return record;
}
