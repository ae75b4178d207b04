import type { Machine, Work } from '../context.js';
import type { Generation } from './generation.js';

/** The kind of wake-ups that are about generations. */
export const GENERATION = 'generation';

/**
 * Schedules a wake-up for a generation. The caller does not wait for it: the generation carries the time at which
 * recovery examines it anyway.
 */
export function wake(context: Work & Machine, generationId: string, at: number): void {
  context.wakeUps
    .schedule({ kind: GENERATION, id: generationId }, at)
    .catch((error: unknown) => context.log.warn('wake-up not scheduled', { generationId, error }));
}

/** Has the worker of this process begin a generation that was just accepted, or schedules a wake-up for it. */
export function wakeAccepted(context: Work & Machine, generation: Generation): void {
  const { generationId, createdAt } = generation;
  const taken = context.localRuns.take(generation);
  if (taken === undefined) wake(context, generationId, createdAt);
  else taken.catch(() => wake(context, generationId, createdAt));
}

/**
 * Schedules an immediate wake-up for a generation that has waited before. The wake-up is as old as the generation, so
 * that among many that are due it is not delivered after those of younger ones.
 */
export function wakeAgain(
  context: Work & Machine,
  { generationId, createdAt }: Pick<Generation, 'generationId' | 'createdAt'>,
): void {
  wake(context, generationId, Math.min(createdAt, context.clock.now()));
}
