import { assert } from '../assert.js';
import { creditsForMeasured } from '../catalog/price.js';
import { isLeftByAnother, type Boot } from '../boot.js';
import type { GenerationCommand } from './commands.js';
import {
  accepted,
  beginAttempt,
  submitAgain,
  undoAttempt,
  withoutLastSubmission,
  whileSubmitting,
  withCost,
  withoutAttempt,
  withoutUnsentAttempt,
} from './attempts.js';
import type { Changed, GenerationRefusal, Occasion } from './decision.js';
import { isTerminal, mayHaveResult, runEndsAt, type Generation, type GenerationStatus } from './generation.js';
import {
  contentBytes,
  emptied,
  hasUnchargedContent,
  nextRemovalAt,
  withoutContent,
  type Retention,
} from './retention.js';
import { isFarAhead } from '../settings.js';
import { TRANSITIONS } from './transitions.js';

export type GenerationDecision = { readonly refused: GenerationRefusal } | { readonly next: Generation };

/** How long after a lease or a due time recovery takes the holder for lost, in milliseconds. */
const ATTENTION_MARGIN_MS = 1_000;

/**
 * Decides one command on one version of a generation. Pure; the store applies the result only onto that version. The
 * times that clients see never go back, however the clock jumps; leases and deadlines use the clock as it is. `boot` is
 * that of the process that decides.
 */
export function decide(
  generation: Generation,
  command: GenerationCommand,
  now: number,
  boot: Boot,
): GenerationDecision {
  const to = TRANSITIONS[generation.status][command.event];
  if (to === undefined) return { refused: 'NOT_ALLOWED' };
  if ('fence' in command && generation.lease?.fence !== command.fence) return { refused: 'FENCE_STALE' };

  const at = Math.max(now, generation.updatedAt);
  const known = 'cost' in command ? withCost(generation, command.cost) : generation;
  const changed = change(known, command, { now, at, boot });
  if ('refused' in changed) return changed;

  const next = conclude(
    generation,
    { ...changed.next, status: to, version: generation.version + 1 },
    { now, at, boot },
  );
  assertSound(generation, next);
  return { next };
}

function change(g: Generation, command: GenerationCommand, occasion: Occasion): Changed {
  const { now, at } = occasion;
  switch (command.event) {
    case 'start':
      return start(g, command, occasion);
    case 'take-over':
      return takeOver(g, command, occasion);
    case 'renew':
      return renew(g, command, occasion);
    case 're-lease':
      return reLease(g, command.leaseMs, occasion);
    case 'begin-attempt':
      return beginAttempt(g, command, occasion);
    case 'submit-again':
      return submitAgain(g, command, occasion);
    case 'submission-ended':
      return whileSubmitting(g, (attempt) => ({ ...attempt, endedAt: now }), at);
    case 'accepted':
      return accepted(g, command, at);
    case 'attempt-failed':
      return {
        next: waitingForRetry(withoutAttempt(command.isRefused ? withoutLastSubmission(g) : g), command.retryAt, at),
      };
    case 'attempt-undone': {
      const undone = undoAttempt(g, command);
      return 'refused' in undone ? undone : { next: waitingForRetry(undone.next, command.retryAt, at) };
    }
    case 'yield':
      return { next: leftUntil(command.isUnsent ? withoutUnsentAttempt(g) : g, now, at) };
    case 'succeed':
      return succeed(g, command.outputs);
    case 'stop':
      return stop(g, command);
    case 'give-up':
    case 'fail':
      return { next: { ...g, error: command.error } };
    case 'expire':
      return expire(g, command, occasion);
    case 'allow-last-poll':
      return allowLastPoll(g, command, occasion);
    case 'cancel':
      return cancel(g, occasion);
    case 'postpone':
      return { next: { ...g, dueAt: command.until } };
    case 'settle':
      return settle(g, command, at);
    case 'content-removed':
      return removeContent(g, command, at);
    case 'outputs-removed':
      return { next: untilNextRemoval({ ...g, outputsRemovedAt: at }, command) };
    case 'late-report':
      return g.lateReport ? { refused: 'NOTHING_TO_DO' } : { next: { ...g, lateReport: { state: command.state, at } } };
    case 'delete':
      return remove(g, at);
  }
}

function waitingForRetry(g: Generation, retryAt: number, at: number): Generation {
  return { ...leftUntil(g, retryAt, at), retryAt };
}

/** Without a lease, and due at `dueAt`: recovery wakes it if nobody else does. */
function leftUntil(g: Generation, dueAt: number, at: number): Generation {
  return { ...withoutLease(g), updatedAt: at, dueAt: dueAt + ATTENTION_MARGIN_MS };
}

function start(g: Generation, command: Extract<GenerationCommand, { event: 'start' }>, occasion: Occasion): Changed {
  if (occasion.now > g.terms.queueDeadlineAt) return { refused: 'DEADLINE_PASSED' };
  const begun = beginAttempt({ ...g, runDeadlineAt: occasion.now + g.terms.runTimeoutMs }, command, occasion);
  return 'refused' in begun ? begun : { next: leased(begun.next, command, occasion) };
}

function takeOver(
  g: Generation,
  command: Extract<GenerationCommand, { event: 'take-over' }>,
  occasion: Occasion,
): Changed {
  if (!mayBeTakenOver(g, occasion.now, occasion.boot)) return { refused: 'LEASE_HELD' };
  return { next: leased(g, command, occasion) };
}

function leased(
  g: Generation,
  { worker, leaseMs }: { readonly worker: string; readonly leaseMs: number },
  { now, at, boot }: Occasion,
): Generation {
  const fence = g.fence + 1;
  const lease = { worker, fence, renewedAt: now, expiresAt: now + leaseMs, bootId: boot.id };
  return { ...withoutRetry(g), fence, lease, updatedAt: at, dueAt: attentionAfter(g, lease.expiresAt) };
}

/** A holder whose clock is ahead must not hide a generation from recovery past its end. */
function attentionAfter(g: Generation, expiresAt: number): number {
  return Math.min(expiresAt, runEndsAt(g)) + ATTENTION_MARGIN_MS;
}

/**
 * A result that became ready while nobody could collect it is not lost: whoever finds the deadline passed allows one more
 * poll, once.
 */
function allowLastPoll(
  g: Generation,
  command: Extract<GenerationCommand, { event: 'allow-last-poll' }>,
  { now, at, boot }: Occasion,
): Changed {
  if (g.lastPollBy !== undefined) return { refused: 'NOTHING_TO_DO' };
  if (!mayHaveResult(g) || now <= (g.runDeadlineAt ?? Infinity)) return { refused: 'NOT_ALLOWED' };
  if (!('fence' in command) && hasLiveLease(g, now, boot)) return { refused: 'LEASE_HELD' };
  const allowed = { ...g, lastPollBy: now + command.periodMs };
  return { next: { ...allowed, updatedAt: at, dueAt: attentionAfter(allowed, g.lease?.expiresAt ?? now) } };
}

function expire(
  g: Generation,
  { error }: Extract<GenerationCommand, { event: 'expire' }>,
  { now, boot }: Occasion,
): Changed {
  if (hasLiveLease(g, now, boot)) return { refused: 'LEASE_HELD' };
  if (mayHaveResult(g) && (g.lastPollBy === undefined || now <= g.lastPollBy)) return { refused: 'LAST_POLL_DUE' };
  return { next: { ...g, error } };
}

function renew(g: Generation, command: Extract<GenerationCommand, { event: 'renew' }>, { now, at }: Occasion): Changed {
  if (!g.lease) return { refused: 'FENCE_STALE' };
  const expiresAt = now + command.leaseMs;
  const progress =
    command.progress === undefined ? {} : { progress: Math.min(1, Math.max(g.progress ?? 0, command.progress)) };
  return {
    next: {
      ...g,
      ...progress,
      lease: { ...g.lease, renewedAt: now, expiresAt },
      updatedAt: at,
      dueAt: attentionAfter(g, expiresAt),
    },
  };
}

function reLease(g: Generation, leaseMs: number, occasion: Occasion): Changed {
  if (!g.lease) return { refused: 'FENCE_STALE' };
  return { next: leased(g, { worker: g.lease.worker, leaseMs }, occasion) };
}

function succeed(g: Generation, outputs: Generation['outputs']): Changed {
  if (outputs.length === 0) return { refused: 'NOT_ALLOWED' };
  return { next: { ...g, outputs, chargedCredits: priceOfDelivered(g, outputs) } };
}

/** The floor is for work a provider did: a task that was never handed over costs nothing. */
function stop(g: Generation, { outputs, hasFailed }: Extract<GenerationCommand, { event: 'stop' }>): Changed {
  if (g.cancelRequestedAt === undefined) return { refused: 'NOT_ALLOWED' };
  const floor = g.attempt?.phase === 'submitted' && !hasFailed ? g.terms.cancelFloorCredits : 0;
  const chargedCredits = Math.min(g.reservedCredits, Math.max(floor, priceOfDelivered(g, outputs)));
  return { next: { ...g, outputs, chargedCredits } };
}

function cancel(g: Generation, { now, at }: Occasion): Changed {
  if (g.cancelRequestedAt !== undefined) return { refused: 'NOTHING_TO_DO' };
  return { next: { ...g, cancelRequestedAt: now, updatedAt: at } };
}

function settle(g: Generation, command: Extract<GenerationCommand, { event: 'settle' }>, at: number): Changed {
  if (g.settledAt !== undefined) return { refused: 'NOTHING_TO_DO' };
  return { next: untilNextRemoval({ ...g, settledAt: at }, command) };
}

/** Charged content is kept as long as the generation; that of an unsettled one may still be needed. */
function removeContent(
  g: Generation,
  command: Extract<GenerationCommand, { event: 'content-removed' }>,
  at: number,
): Changed {
  if (g.contentRemovedAt !== undefined) return { refused: 'NOTHING_TO_DO' };
  if (g.settledAt === undefined || !hasUnchargedContent(g)) return { refused: 'NOT_ALLOWED' };
  return { next: untilNextRemoval({ ...withoutContent(g), contentRemovedAt: at }, command) };
}

/** Of one that is not settled the charge is still due. */
function remove(g: Generation, at: number): Changed {
  if (g.deletedAt !== undefined) return { refused: 'NOTHING_TO_DO' };
  if (g.settledAt === undefined) return { refused: 'NOT_ALLOWED' };
  return { next: { ...emptied(g), deletedAt: at, dueAt: at + ATTENTION_MARGIN_MS } };
}

function untilNextRemoval(g: Generation, retention: Retention): Generation {
  return { ...g, dueAt: nextRemovalAt(g, retention) };
}

/** What a generation that reaches its end loses and gains, whichever way it ends. */
function conclude(before: Generation, next: Generation, { now, at }: Occasion): Generation {
  if (!isTerminal(next.status) || isTerminal(before.status)) return next;
  const uncharged = next.chargedCredits === 0 ? { unchargedBytes: contentBytes(next) } : {};
  return {
    ...withoutRetry(withoutLease(next)),
    ...uncharged,
    completedAt: at,
    updatedAt: at,
    dueAt: now + ATTENTION_MARGIN_MS,
  };
}

function withoutLease(g: Generation): Generation {
  const { lease: _lease, ...rest } = g;
  return rest;
}
function withoutRetry(g: Generation): Generation {
  const { retryAt: _retryAt, ...rest } = g;
  return rest;
}

/** Whether a worker may be running it: its lease has not lapsed, and its holder is not known to be dead. */
export function hasLiveLease(g: Generation, now: number, boot: Boot): boolean {
  return hasTimeLeft(g, now) && !isLeftByAnother(boot, g.lease?.bootId);
}

/**
 * Whether another worker may continue it: nobody has it, and its next attempt is due. A dead holder may have left a submission in flight: if asked too early, the
 * provider would answer that it has no such task, and get it a second time. So in that case the lease must lapse first.
 */
export function mayBeTakenOver(g: Generation, now: number, boot: Boot): boolean {
  if (hasLiveLease(g, now, boot) || waitsForRetry(g, now)) return false;
  return !(g.attempt?.phase === 'submitting' && hasTimeLeft(g, now));
}

/** When another worker may continue one that may not be continued now. */
export function takeOverAt({ lease, retryAt }: Generation): number {
  return Math.max(lease?.expiresAt ?? 0, retryAt ?? 0);
}

/**
 * A wake-up that is delivered twice must not use up attempts early. A time that was set by a clock far ahead does not
 * count, and a run that is over or cancelled has nothing to wait for.
 */
function waitsForRetry(g: Generation, now: number): boolean {
  const { retryAt = 0, cancelRequestedAt, runDeadlineAt = Infinity, updatedAt } = g;
  if (retryAt <= now || cancelRequestedAt !== undefined || now > runDeadlineAt) return false;
  return !isFarAhead(updatedAt, now);
}

/** A lease renewed far in the future was left by a clock that has been set back: it has lapsed. */
function hasTimeLeft({ lease }: Generation, now: number): boolean {
  return lease !== undefined && lease.expiresAt > now && !isFarAhead(lease.renewedAt, now);
}

/** The price of what was delivered, never above the reservation. */
function priceOfDelivered({ terms, reservedCredits }: Generation, outputs: Generation['outputs']): number {
  const { creditsByOutputs: table, measuredRate } = terms;
  const credits =
    measuredRate === undefined
      ? (table[Math.min(outputs.length, table.length - 1)] ?? reservedCredits)
      : creditsForMeasured(measuredRate, outputs);
  return Math.min(reservedCredits, credits);
}

const FROZEN_FIELDS = ['createdAt', 'estimatedCredits', 'reservedCredits'] as const;

function assertSound(before: Generation, next: Generation): void {
  for (const name of FROZEN_FIELDS) assert(before[name] === next[name], `${name} never changes`);
  assert(
    next.chargedCredits >= before.chargedCredits && next.chargedCredits <= next.reservedCredits,
    'charged credits only grow, within the reserved ones',
  );
  assert(
    (next.submissionsMade ?? 0) <= next.terms.maxAttempts,
    'no more submissions may have been taken than attempts may be made',
  );
  assert(next.fence >= before.fence && next.updatedAt >= before.updatedAt, 'fence and updatedAt only grow');
  const ended: GenerationStatus = next.status;
  assert(
    (next.completedAt !== undefined) === isTerminal(ended),
    'completedAt is there exactly when the generation has ended',
  );
  assert((next.error !== undefined) === (ended === 'failed'), 'error is there exactly when the generation failed');
  if (next.unchargedBytes !== undefined || next.contentRemovedAt !== undefined)
    assert(isTerminal(ended) && next.chargedCredits === 0, 'content goes early only of what ended without charge');
  if (ended === 'succeeded') assert(next.outputs.length > 0, 'a success has outputs');
  if (isTerminal(before.status))
    assert(before.status === ended && before.updatedAt === next.updatedAt, 'what has ended stays as it is');
}
