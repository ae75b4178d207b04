import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import type { GenerationCommand } from './commands.js';
import { decide } from './decide.js';
import type { GenerationRefusal } from './decision.js';
import type { Generation } from './generation.js';

const MAX_TRIES = 10;

export type Changed = { readonly generation: Generation; readonly refused?: GenerationRefusal };

/**
 * Decides a command on the newest version and writes it. Tries again when another process was faster, a bounded number
 * of times. Answers the resulting generation, with the reason if nothing was written.
 */
export async function changeGeneration(
  { generations, clock, boot }: Pick<Context, 'generations' | 'clock' | 'boot'>,
  generation: Generation,
  command: GenerationCommand,
): Promise<Changed> {
  let current = generation;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const decision = decide(current, command, clock.now(), boot);
    if ('refused' in decision) {
      // What was read before may be old; only the newest version may refuse.
      const newest = tries === 0 ? await reload(generations, current) : current;
      if (newest.version === current.version) return { generation: current, refused: decision.refused };
      current = newest;
      continue;
    }
    if ((await generations.replace(decision.next, current.version)) === 'applied') return { generation: decision.next };
    current = await reload(generations, current);
  }
  throw changedTooOften();
}

export function changedTooOften(): ServiceError {
  return new ServiceError(
    'SERVICE_UNAVAILABLE',
    'The generation is being changed by too many processes at the same time; try again.',
    { retryAfterMs: 1_000 },
  );
}

/**
 * Decides a command on the version that was read, and writes it only if that still is the newest. Answers the resulting
 * generation; undefined if nothing was written.
 */
export async function changeOnce(
  { generations, clock, boot }: Pick<Context, 'generations' | 'clock' | 'boot'>,
  generation: Generation,
  command: GenerationCommand,
): Promise<Generation | undefined> {
  const decision = decide(generation, command, clock.now(), boot);
  if ('refused' in decision) return undefined;
  return (await generations.replace(decision.next, generation.version)) === 'applied' ? decision.next : undefined;
}

async function reload(generations: Context['generations'], known: Generation): Promise<Generation> {
  const record = await generations.read(known.generationId);
  if (record?.kind !== 'generation') throw new ServiceError('GENERATION_JOB_NOT_FOUND');
  return record;
}
