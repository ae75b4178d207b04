import type { Log } from '../log.js';
import type { Ports } from '../ports/ports.js';
import type { Generation } from './generation.js';

/** Takes a generation, or answers undefined. Rejects when somebody should be woken for it after all. */
export type TakeHere = (generation: Generation) => Promise<void> | undefined;

const NOBODY: TakeHere = () => undefined;

/**
 * The worker of this process, where there is one: a generation that it takes at once needs no stored wake-up, as recovery
 * finds those of a process that has died.
 */
export class LocalRuns {
  /** That worker's, while it serves. */
  take: TakeHere = NOBODY;

  /** From now on, until the returned function is called. */
  serve(take: TakeHere): () => void {
    this.take = take;
    return () => {
      this.take = NOBODY;
    };
  }
}

type Waking = Pick<Ports, 'wakeUps'> & { readonly log: Log };

/** The kind of wake-ups that are about generations. */
export const GENERATION = 'generation';

/**
 * Schedules a wake-up for a generation. The caller does not wait for it: the generation carries the time at which
 * recovery examines it anyway.
 */
export function wake(context: Waking, generationId: string, at: number): void {
  context.wakeUps
    .schedule({ kind: GENERATION, id: generationId }, at)
    .catch((error: unknown) => context.log.warn('wake-up not scheduled', { generationId, error }));
}

/** Lets the worker of this process start a generation that was just accepted, or schedules a wake-up for it. */
export function wakeAccepted(context: Waking & { readonly localRuns: LocalRuns }, generation: Generation): void {
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
  context: Waking & Pick<Ports, 'clock'>,
  { generationId, createdAt }: Pick<Generation, 'generationId' | 'createdAt'>,
): void {
  wake(context, generationId, Math.min(createdAt, context.clock.now()));
}
