import type { Context } from '../../../core/context.js';
import { isTerminal, type Generation } from '../../../core/generation/generation.js';
import type { Waiting } from '../../../core/generation/wait-for-generation.js';

/**
 * `Darkroom-Progress`: how much of a running generation is done, 0 to 1, where its provider says. Who has waited for one that
 * is queued still is told how many are before it; for all others that would cost more than their request.
 */
export async function progressHeader(
  { queuePositions }: Pick<Context, 'queuePositions'>,
  generation: Generation,
  wait: Waiting | undefined,
): Promise<Readonly<Record<string, string>>> {
  const { status, progress } = generation;
  if (status === 'queued' && wait !== undefined && wait.waitMs > 0) {
    const position = await queuePositions.before(generation);
    return position === undefined ? {} : { 'Darkroom-Progress': `0;position=${position}` };
  }
  if (progress === undefined || isTerminal(status)) return {};
  return { 'Darkroom-Progress': String(Math.floor(progress * 1_000) / 1_000) };
}
