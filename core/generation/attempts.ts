import type { ProviderCost } from '../providers/provider-cost.js';
import type { GenerationCommand } from './commands.js';
import type { Changed, Occasion } from './decision.js';
import { submissionsMadeOf, type Attempt, type Generation } from './generation.js';

export function beginAttempt(
  g: Generation,
  { token, provider }: { readonly token: string; readonly provider: string },
  { now, at, boot }: Occasion,
): Changed {
  if (g.cancelRequestedAt !== undefined || g.attempt) return { refused: 'NOT_ALLOWED' };
  if (g.runDeadlineAt !== undefined && now > g.runDeadlineAt) return { refused: 'DEADLINE_PASSED' };
  if (!hasAttemptLeft(g)) return { refused: 'NOT_ALLOWED' };
  const number = g.attemptsMade + 1;
  const attempt: Attempt = { number, phase: 'submitting', provider, token, startedAt: at, bootId: boot.id };
  const submissionsMade = submissionsMadeOf(g) + 1;
  return { next: { ...g, attempt, attemptsMade: number, submissionsMade, updatedAt: at } };
}

/** Whether another attempt, with a submission of its own, may begin. */
export function hasAttemptLeft(g: Generation): boolean {
  return g.attemptsMade < g.terms.maxAttempts && hasSubmissionLeft(g);
}

/** Whether the provider may be handed one more submission that it may take. */
export function hasSubmissionLeft(g: Generation): boolean {
  return submissionsMadeOf(g) < g.terms.maxAttempts;
}

export function submitAgain(
  g: Generation,
  { isNotTaken }: Pick<Extract<GenerationCommand, { event: 'submit-again' }>, 'isNotTaken'>,
  { now, at, boot }: Occasion,
): Changed {
  if (!isNotTaken && !hasSubmissionLeft(g)) return { refused: 'NOT_ALLOWED' };
  if (g.cancelRequestedAt !== undefined) return { refused: 'NOT_ALLOWED' };
  if (g.runDeadlineAt !== undefined && now > g.runDeadlineAt) return { refused: 'DEADLINE_PASSED' };
  const again = ({ endedAt: _, ...attempt }: Attempt): Attempt => ({ ...attempt, startedAt: at, bootId: boot.id });
  return whileSubmitting(isNotTaken ? g : { ...g, submissionsMade: submissionsMadeOf(g) + 1 }, again, at);
}

/** Changes the attempt as long as it is unknown whether it was accepted. */
export function whileSubmitting(g: Generation, changed: (attempt: Attempt) => Attempt, at: number): Changed {
  if (g.attempt?.phase !== 'submitting') return { refused: 'NOT_ALLOWED' };
  return { next: { ...g, attempt: changed(g.attempt), updatedAt: at } };
}

export function accepted(
  g: Generation,
  command: Extract<GenerationCommand, { event: 'accepted' }>,
  at: number,
): Changed {
  if (!g.attempt) return { refused: 'NOT_ALLOWED' };
  const { endedAt: _, ...attempt } = g.attempt;
  const known = 'delivered' in command ? { delivered: command.delivered } : { reference: command.reference };
  return { next: { ...g, attempt: { ...attempt, phase: 'submitted', ...known }, updatedAt: at } };
}

export function undoAttempt(g: Generation, command: Extract<GenerationCommand, { event: 'attempt-undone' }>): Changed {
  const { notHere } = command;
  if (g.attempt?.phase !== 'submitting') return { refused: 'NOT_ALLOWED' };
  const refusedBy = notHere === undefined ? {} : { notHere: [...new Set([...(g.notHere ?? []), notHere])] };
  return { next: { ...withoutUnsentAttempt(g), ...refusedBy } };
}

/** The last report of an attempt's cost at a provider replaces one before. */
export function withCost(g: Generation, cost: ProviderCost | undefined): Generation {
  if (cost === undefined || g.attempt === undefined) return g;
  const { number, provider = '' } = g.attempt;
  const others = (g.costs ?? []).filter((one) => one.attempt !== number || one.provider !== provider);
  return { ...g, costs: [...others, { ...cost, attempt: number, provider }] };
}

export function withoutAttempt(g: Generation): Generation {
  const { attempt: _attempt, ...rest } = g;
  return rest;
}

/** Without an attempt whose last submission was never sent, or was certainly not taken. */
export function withoutUnsentAttempt(g: Generation): Generation {
  return g.attempt?.phase === 'submitting'
    ? withoutAttempt(withoutLastSubmission({ ...g, attemptsMade: g.attemptsMade - 1 }))
    : g;
}

/** The last submission was certainly refused: it does not count. */
export function withoutLastSubmission(g: Generation): Generation {
  const { submissionsMade } = g;
  return submissionsMade === undefined ? g : { ...g, submissionsMade: Math.max(0, submissionsMade - 1) };
}
