import type { Generation } from '../../core/generation/generation.js';
import type { Finding } from './finding.js';
import { ENDED_RANK, rankOf } from './task-order.js';

/** What may delay an end, in milliseconds of one clock. */
export interface Calm {
  /** From when on nothing fails any more. */
  readonly from: number;
  /** How late something may be after its deadline, or after all faults: leases lapse, recovery passes. */
  readonly slackMs: number;
}

type AtRest = Pick<Generation, 'generationId' | 'status' | 'runDeadlineAt' | 'terms'>;

/**
 * Invariants 6 and 20: at rest a generation has ended and is settled, and both came in time. Without `calm` only that
 * they came is checked.
 */
export function* checkEnd(
  generation: AtRest,
  { endedAt, settledAt }: { readonly endedAt: number | undefined; readonly settledAt: number | undefined },
  calm: Calm | undefined,
): Iterable<Finding> {
  const { generationId, status } = generation;
  const deadline = deadlineOf(generation);
  if (rankOf(status) !== ENDED_RANK || endedAt === undefined) {
    yield {
      invariant: 20,
      sentence: `at rest generation ${generationId} is ${status}, and its deadline was ${deadline}`,
    };
    return;
  }
  if (settledAt === undefined)
    yield { invariant: 6, sentence: `at rest generation ${generationId} is ${status} and not settled` };
  if (!calm) return;
  const lateMs = endedAt - Math.max(deadline, calm.from);
  if (lateMs > calm.slackMs)
    yield {
      invariant: 20,
      sentence: `generation ${generationId} ended at ${endedAt}, ${Math.round(lateMs)} ms after its deadline ${deadline} and the end of faults`,
    };
  const unsettledMs = (settledAt ?? endedAt) - Math.max(endedAt, calm.from);
  if (unsettledMs > calm.slackMs)
    yield {
      invariant: 6,
      sentence: `the hold of generation ${generationId} was ended ${Math.round(unsettledMs)} ms after it was ${status}`,
    };
}

/** By when it must have ended: what was never begun by the queue deadline, the rest by the run deadline. */
function deadlineOf({ runDeadlineAt, terms }: AtRest): number {
  return runDeadlineAt ?? terms.queueDeadlineAt;
}
