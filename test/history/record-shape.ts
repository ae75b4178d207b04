import type { Generation } from '../../core/generation/generation.js';
import { type Finding, finding } from './finding.js';
import { ENDED_RANK, rankOf } from './task.js';

function contentOf({ prompt, negativePrompt, parameters, references }: Generation): string {
  return JSON.stringify([prompt, negativePrompt, parameters, references]);
}

/** Invariants 7 and 9: the constraints on a stored generation, taken by itself. */
export function* checkShape(g: Generation): Iterable<Finding> {
  const ended = rankOf(g.status) === ENDED_RANK;
  if (g.lease !== undefined && g.status !== 'running')
    yield finding`7: generation ${g.generationId}, version ${g.version}, is ${g.status} and leased to ${g.lease.worker}`;
  for (const fault of faultsOf(g, ended))
    yield finding`9: generation ${g.generationId}, version ${g.version}, is ${g.status} and ${fault}`;
}

function faultsOf(g: Generation, ended: boolean): string[] {
  const rules: readonly (readonly [boolean, string])[] = [
    [(g.completedAt !== undefined) === ended, `completed at ${g.completedAt}`],
    [(g.error !== undefined) === (g.status === 'failed'), `has the error ${g.error?.code}`],
    [
      g.status === 'succeeded' ? g.outputs.length > 0 : g.status === 'cancelled' || g.outputs.length === 0,
      `has ${g.outputs.length} outputs`,
    ],
    [g.createdAt <= g.updatedAt, `was updated at ${g.updatedAt}, before it was made at ${g.createdAt}`],
    [
      g.completedAt === undefined || (g.createdAt <= g.completedAt && g.completedAt <= g.updatedAt),
      `was completed at ${g.completedAt}, made at ${g.createdAt} and updated at ${g.updatedAt}`,
    ],
    [g.lease === undefined || g.lease.fence === g.fence, `has fence ${g.fence} and a lease with ${g.lease?.fence}`],
    [(g.settledAt !== undefined) <= ended, 'settled'],
    [(g.outputsRemovedAt !== undefined) <= (g.settledAt !== undefined), 'without its files before it was settled'],
    [
      g.contentRemovedAt === undefined || (g.settledAt !== undefined && g.chargedCredits === 0),
      `without its content, though charged ${g.chargedCredits}`,
    ],
    [(g.deletedAt !== undefined) <= (g.settledAt !== undefined), 'deleted before it was settled'],
    [
      (g.contentRemovedAt === undefined && g.deletedAt === undefined) || contentOf(g) === '["",null,{},[]]',
      'with some of its content, which was removed',
    ],
    [
      g.unchargedBytes ===
        (ended && g.chargedCredits === 0 && g.contentRemovedAt === undefined
          ? Math.max(2_048, Buffer.byteLength(contentOf(g)))
          : undefined),
      `counts ${g.unchargedBytes} bytes`,
    ],
    [(g.lateReport !== undefined) <= ended, 'reported on late'],
    [g.status !== 'queued' || (g.attempt === undefined && g.runDeadlineAt === undefined), 'has begun'],
    [g.status !== 'running' || g.runDeadlineAt !== undefined, 'has no deadline'],
    [
      g.attemptsMade >= (g.attempt?.number ?? 0) && g.attemptsMade <= g.terms.maxAttempts,
      `has made ${g.attemptsMade} attempts of ${g.terms.maxAttempts}`,
    ],
    [
      g.attempt === undefined ||
        (g.attempt.phase === 'submitted') === ((g.attempt.reference ?? g.attempt.delivered) !== undefined),
      'has an attempt whose reference and phase differ',
    ],
    [
      [g.createdAt, g.updatedAt, g.dueAt, g.fence, g.version].every(Number.isSafeInteger),
      'has a time that is no whole number',
    ],
  ];
  return rules.flatMap(([holds, fault]) => (holds ? [] : [fault]));
}
