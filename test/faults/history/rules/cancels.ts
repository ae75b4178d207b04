import type { Generation } from '../../../../core/generation/generation.js';
import type { Finding } from '../../../history/finding.js';
import { textOf } from '../../../history/values.js';
import { type Known, told } from '../known.js';

/**
 * Invariant 10: a cancel that was acknowledged is not forgotten, and one of a queued generation costs nothing and
 * starts nothing.
 */
export function* checkCancels(known: Known): Iterable<Finding> {
  const asked = new Set<string>();
  for (const { request } of known.history.exchanges)
    if (request.operation === 'cancel') asked.add(request.generationId);
  for (const exchange of known.answered('cancel')) {
    const record = known.record(exchange.request.generationId);
    if (exchange.answer.status !== 200 || record?.kind !== 'generation') continue;
    const shown = textOf(exchange.answer.data?.['status']);
    if (shown === 'running' && record.cancelRequestedAt === undefined)
      yield { invariant: 10, sentence: `${told(exchange)} was acknowledged, and is not on record` };
    if (shown === 'queued') yield { invariant: 10, sentence: `${told(exchange)} left it queued` };
  }
  for (const generation of known.generations()) {
    if (generation.status === 'cancelled') yield* checkCancelled(known, generation, asked.has(generation.generationId));
  }
}

function* checkCancelled(known: Known, generation: Generation, wasAsked: boolean): Iterable<Finding> {
  const { generationId, attemptsMade, attempt, runDeadlineAt, completedAt = 0, chargedCredits, outputs } = generation;
  if (!wasAsked)
    yield { invariant: 10, sentence: `generation ${generationId} was cancelled, and no client had asked for it` };
  if (attempt && attempt.startedAt > completedAt)
    yield {
      invariant: 10,
      sentence: `attempt ${attempt.number} of generation ${generationId} began after it was cancelled`,
    };
  // Never begun: it was queued when it was cancelled.
  if (runDeadlineAt !== undefined) return;
  const wasCharged = chargedCredits !== 0 || (known.money.get(generationId)?.charged ?? 0n) !== 0n;
  if (wasCharged || outputs.length > 0 || attemptsMade > 0) {
    yield {
      invariant: 10,
      sentence: `generation ${generationId} was cancelled while queued, and has ${attemptsMade} attempts, ${outputs.length} outputs and ${chargedCredits} charged`,
    };
  }
}
