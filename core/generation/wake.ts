import type { Context } from '../context.js';

/** Has a generation looked at. Not waited for: the generation carries the time at which recovery looks at it anyway. */
export function wake(context: Pick<Context, 'wakeUps' | 'log'>, generationId: string, at: number): void {
  context.wakeUps.schedule(generationId, at).catch((error: unknown) => context.log.warn('wake-up not scheduled', { generationId, error }));
}
