import type { Machine, Work } from '../../context.js';
import type { Settings } from '../../settings.js';
import { type Generation, mayHaveResult, outputCountOf, runEndsAt, type TaskError } from '../generation.js';
import { changeGeneration } from '../settle-generation.js';

/**
 * How long a result that is ready at the deadline may take to be collected, in milliseconds: one call for the last poll, and
 * one for each output.
 */
export function lastPeriodMs({ providerCallMs }: Pick<Settings, 'providerCallMs'>, g: Generation): number {
  return providerCallMs * (1 + outputCountOf(g));
}

/** When a generation that no worker runs ends: queued, at its queue deadline. */
export function deadlineOf(g: Generation): number {
  return g.status === 'queued' ? g.terms.queueDeadlineAt : runEndsAt(g);
}

/**
 * Ends a generation that is past its deadline and that no worker runs; null where it is not, or its end was refused. One
 * whose provider may have the result gets the period for a last poll instead, once: a worker has to take it then.
 */
export async function endOverdue(context: Work & Machine, g: Generation, error: TaskError): Promise<Generation | null> {
  if (context.clock.now() <= deadlineOf(g)) return null;
  if (mayHaveResult(g) && g.lastPollBy === undefined) {
    await changeGeneration(context, g, { event: 'allow-last-poll', periodMs: lastPeriodMs(context.settings, g) });
    return null;
  }
  const event = g.status === 'queued' ? 'give-up' : 'expire';
  const { generation, refused } = await changeGeneration(context, g, { event, error });
  return refused === undefined ? generation : null;
}
