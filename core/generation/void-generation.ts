import type { Context } from '../context.js';
import type { GenerationRecord } from './generation.js';

/**
 * Takes a generation's id so that none can be created there, unless one exists: answers the record at the id
 * afterwards. The first insert wins, and the loser learns of it.
 */
export async function voidGeneration(
  { generations, clock, settings }: Pick<Context, 'generations' | 'clock' | 'settings'>,
  id: { readonly generationId: string; readonly accountId: string; readonly appId: string },
): Promise<GenerationRecord> {
  const now = clock.now();
  const tombstone: GenerationRecord = {
    kind: 'void',
    ...id,
    version: 1,
    createdAt: now,
    dueAt: now + settings.tombstoneRetentionMs,
  };
  const outcome = await generations.insert(tombstone);
  return outcome.inserted ? tombstone : outcome.existing;
}
