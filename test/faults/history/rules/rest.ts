import type { Generation } from '../../../../core/generation/generation.js';
import type { Finding } from '../../../history/finding.js';
import { taskHasEnded, type Known } from '../known.js';

/** Invariants 6, 7, 12 and 20: once nothing goes wrong any more everything ends within its deadline, and is settled. */
export function* checkRest(known: Known): Iterable<Finding> {
  const { facts } = known.history;
  for (const generation of known.generations()) {
    const { generationId, status, settledAt, completedAt, createdAt, updatedAt } = generation;
    if (!taskHasEnded(status) || completedAt === undefined) {
      yield { invariant: 20, sentence: `at rest generation ${generationId} is ${status}` };
      continue;
    }
    if (settledAt === undefined)
      yield { invariant: 6, sentence: `at rest generation ${generationId} is ${status} and not settled` };
    const lateMs = completedAt - Math.max(deadlineOf(generation), facts.quietAt, facts.troubledUntil);
    if (lateMs > facts.slackMs)
      yield {
        invariant: 20,
        sentence: `generation ${generationId} ended ${Math.round(lateMs)} ms after its deadline and the end of all faults`,
      };
    if (createdAt > updatedAt || completedAt < createdAt)
      yield {
        invariant: 9,
        sentence: `generation ${generationId} was created at ${createdAt}, updated at ${updatedAt} and completed at ${completedAt}`,
      };
    if (generation.lease)
      yield {
        invariant: 7,
        sentence: `generation ${generationId} is ${status} and leased to ${generation.lease.worker}`,
      };
    if ((status === 'failed') !== (generation.error !== undefined))
      yield {
        invariant: 9,
        sentence: `generation ${generationId} is ${status}, and its error is ${generation.error?.code}`,
      };
    if (status === 'succeeded' && generation.outputs.length === 0)
      yield { invariant: 9, sentence: `generation ${generationId} succeeded without outputs` };
  }
}

/** By when it must have ended: what was never begun by the queue deadline, the rest by the run deadline. */
function deadlineOf({ runDeadlineAt, terms }: Generation): number {
  return runDeadlineAt ?? terms.queueDeadlineAt;
}
