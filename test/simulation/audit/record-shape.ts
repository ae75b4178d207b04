import type { Generation } from '../../../core/generation/generation.js';
import { hasEnded } from './record-events.js';

/** What is wrong with a stored generation taken by itself, if anything. */
export function shapeFault(g: Generation): string | undefined {
  const ended = hasEnded(g);
  const faults: readonly (readonly [boolean, string])[] = [
    [(g.completedAt !== undefined) === ended, `completed at ${g.completedAt}`],
    [(g.error !== undefined) === (g.status === 'failed'), `has the error ${g.error?.code}`],
    [g.status === 'succeeded' ? g.outputs.length > 0 : g.status === 'cancelled' || g.outputs.length === 0, `has ${g.outputs.length} outputs`],
    [g.createdAt <= g.updatedAt, `was updated at ${g.updatedAt}, before it was made at ${g.createdAt}`],
    [g.completedAt === undefined || g.completedAt <= g.updatedAt, `was completed at ${g.completedAt}, after ${g.updatedAt}`],
    [(g.lease !== undefined) <= (g.status === 'running'), 'has a lease'],
    [g.lease === undefined || g.lease.fence === g.fence, `has fence ${g.fence} and a lease with ${g.lease?.fence}`],
    [(g.settledAt !== undefined) <= ended, 'settled'],
    [(g.outputsRemovedAt !== undefined) <= (g.settledAt !== undefined), 'without its files before it was settled'],
    [(g.lateReport !== undefined) <= ended, 'reported on late'],
    [g.status !== 'queued' || (g.attempt === undefined && g.runDeadlineAt === undefined), 'has begun'],
    [g.status !== 'running' || g.runDeadlineAt !== undefined, 'has no deadline'],
    [g.attemptsMade >= (g.attempt?.number ?? 0) && g.attemptsMade <= g.terms.maxAttempts, `has made ${g.attemptsMade} attempts of ${g.terms.maxAttempts}`],
    [g.attempt === undefined || (g.attempt.phase === 'submitted') === (g.attempt.reference !== undefined), 'has an attempt whose reference and phase differ'],
    [[g.createdAt, g.updatedAt, g.attentionAt, g.fence, g.version].every(Number.isSafeInteger), 'has a time that is no whole number'],
  ];
  return faults.find(([holds]) => !holds)?.[1];
}
