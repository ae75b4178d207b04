import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import type { Waits } from '../memory-budget.js';
import { isTerminal, type Generation, type GenerationRecord } from './generation.js';
import { getGeneration } from './get-generation.js';

export interface Waiting {
  /** How long to wait at most, in milliseconds; with 0 the generation is only read. */
  readonly waitMs: number;
  /** Told of the generation each time that it was read while it has not ended. Must not throw. */
  readonly onLook?: (generation: Generation) => void;
  /** Ends the wait early; the call that the context is for when absent. */
  readonly until?: Waits | undefined;
}

/**
 * The caller's own generation once it has ended, or as it is when the time or the wait is over. Throws TASK_NOT_FOUND
 * and GENERATION_JOB_NOT_FOUND as `getGeneration` does.
 */
export async function waitForGeneration(
  context: Pick<Context, 'generations' | 'generationWatch' | 'clock' | 'call'>,
  caller: Caller,
  generationId: string,
  { waitMs, onLook = () => undefined, until = context.call }: Waiting,
): Promise<Generation> {
  const found = await getGeneration(context, caller, generationId);
  if (isTerminal(found.status) || waitMs <= 0 || until?.isOver === true) return found;
  const last = await lastSeen(context, found, { waitMs, onLook, until });
  if (last?.kind !== 'generation') throw new ServiceError('GENERATION_JOB_NOT_FOUND');
  return last;
}

function lastSeen(
  { generationWatch, clock }: Pick<Context, 'generationWatch' | 'clock'>,
  found: Generation,
  { waitMs, onLook, until }: Required<Waiting>,
): Promise<GenerationRecord | null> {
  return new Promise((resolve) => {
    let last: GenerationRecord | null = found;
    const end = (): void => {
      cancelTimer();
      listenNoMore?.();
      followNoMore();
      resolve(last);
    };
    const cancelTimer = clock.after(waitMs, end);
    const listenNoMore = until?.onOver(end);
    const followNoMore = generationWatch.follow(found.generationId, (record) => {
      last = record;
      if (record?.kind !== 'generation' || isTerminal(record.status) || until?.isOver === true) end();
      else onLook(record);
    });
  });
}
