import { assert } from '../assert.js';
import { type Boot, isLeftByAnother } from '../boot.js';
import { creditsForMeasured } from '../catalog/price.js';
import { utf8ByteLength } from '../json.js';
import { isFarAhead, type Settings } from '../settings.js';
import {
  type Attempt,
  type DeliveredObject,
  type Generation,
  type GenerationStatus,
  isTerminal,
  mayHaveResult,
  type Output,
  type ProviderCost,
  runEndsAt,
  submissionsMadeOf,
  type TaskError,
  thumbnailBytesOf,
  type ThumbnailSide,
} from './generation.js';

/** Bytes counted for a generation without content: about the size of its record, its key and its ledger entries. */
const MIN_CONTENT_BYTES = 2_048;

/** Until when the parts of a generation that has ended are kept. */
export interface Retention {
  readonly contentExpiresAt: number;
  readonly outputsExpireAt: number;
  readonly taskExpiresAt: number;
}

/** Content whose bytes are summed by account: outputs of generations that ended without charge, and thumbnails. */
export type StoredContent = 'uncharged' | 'thumbnails';

/** The generations that have such content, and its bytes. */
export interface StoredSum {
  readonly generations: number;
  readonly bytes: number;
}

type RetentionSettings = Pick<Settings, 'unchargedContentRetentionMs' | 'outputRetentionMs' | 'taskRetentionMs'>;

export function retentionOf(g: Generation, settings: RetentionSettings): Retention {
  const endedAt = g.completedAt ?? g.updatedAt;
  return {
    contentExpiresAt: endedAt + settings.unchargedContentRetentionMs,
    outputsExpireAt: endedAt + settings.outputRetentionMs,
    taskExpiresAt: endedAt + settings.taskRetentionMs,
  };
}

/** When something of an ended generation is next to be removed. */
export function nextRemovalAt(g: Generation, { contentExpiresAt, outputsExpireAt, taskExpiresAt }: Retention): number {
  return Math.min(
    taskExpiresAt,
    hasUnchargedContent(g) ? contentExpiresAt : Infinity,
    mayHaveOutputs(g) ? outputsExpireAt : Infinity,
  );
}

/** Whether files may be in the object store. */
export function mayHaveOutputs(g: Generation): boolean {
  return g.outputsRemovedAt === undefined && g.attemptsMade > 0;
}

/** Whether an ended generation still has its request, although its storage was not paid for. */
export function hasUnchargedContent(g: Generation): boolean {
  return g.contentRemovedAt === undefined && g.chargedCredits === 0;
}

/** How many bytes its content counts: the prompts, the parameters and the references as JSON, in UTF-8. */
export function contentBytes({ prompt, negativePrompt, parameters, references }: Generation): number {
  return Math.max(MIN_CONTENT_BYTES, utf8ByteLength(JSON.stringify([prompt, negativePrompt, parameters, references])));
}

/** Removes the content that only the generation's run needed. Everything that clients are shown remains. */
export function withoutContent(g: Generation): Generation {
  const { negativePrompt: _negativePrompt, unchargedBytes: _unchargedBytes, ...rest } = g;
  return { ...rest, prompt: '', parameters: {}, references: [] };
}

/**
 * The same for a generation that its client deletes. One without charge still counts towards its account's limit,
 * because otherwise creating and deleting would be unbounded.
 */
function emptied(g: Generation): Generation {
  const { webhookUrl: _webhookUrl, ...rest } = withoutContent(g);
  return g.unchargedBytes === undefined ? rest : { ...rest, unchargedBytes: MIN_CONTENT_BYTES };
}

/** Something a holder of the lease does; refused once another worker holds a newer fence. */
interface Fenced {
  readonly fence: number;
}

/** A change that follows a call in which the provider may have reported the attempt's cost. */
interface Costly {
  readonly cost?: ProviderCost;
}

export type GenerationCommand =
  /** From queued: take the lease and record the first attempt in one write. */
  | {
      readonly event: 'start';
      readonly worker: string;
      readonly token: string;
      readonly provider: string;
      readonly leaseMs: number;
    }
  /** Running without a live lease: another worker continues. */
  | { readonly event: 'take-over'; readonly worker: string; readonly leaseMs: number }
  | ({ readonly event: 'renew'; readonly leaseMs: number; readonly progress?: number } & Fenced)
  /**
   * The holder takes a new fence itself, so that nothing that was sent under the old one can touch what it does next.
   */
  | ({ readonly event: 're-lease'; readonly leaseMs: number } & Fenced)
  | ({ readonly event: 'begin-attempt'; readonly token: string; readonly provider: string } & Fenced)
  /**
   * The attempt is about to be submitted once more, so the time in which the submission may arrive starts again.
   * `isNotTaken`: the previous submission was never sent, or was certainly not taken, so it does not count.
   */
  | ({ readonly event: 'submit-again'; readonly isNotTaken: boolean } & Fenced)
  /** Our own call has ended, and it is unknown whether the attempt was accepted. */
  | ({ readonly event: 'submission-ended' } & Fenced)
  /** With a reference to poll by, or with what the provider delivered in its answer. */
  | ({ readonly event: 'accepted' } & (
      | { readonly reference: string }
      | { readonly delivered: readonly DeliveredObject[] }
    ) &
      Costly &
      Fenced)
  /**
   * This attempt is over; the next one is due at `retryAt`. Gives the lease back. `isRefused`: its last submission was
   * certainly refused, so it does not count.
   */
  | ({ readonly event: 'attempt-failed'; readonly retryAt: number; readonly isRefused: boolean } & Costly & Fenced)
  /**
   * The provider certainly has not taken the attempt, which another one may: it did not count. The next one is due at
   * `retryAt`, not at the provider `notHere`. Gives the lease back.
   */
  | ({ readonly event: 'attempt-undone'; readonly retryAt: number; readonly notHere?: string } & Costly & Fenced)
  /**
   * The worker is stopping: gives the lease back. The attempt stays, unless it was never handed over: then it did not
   * count.
   */
  | ({ readonly event: 'yield'; readonly isUnsent: boolean } & Fenced)
  | ({ readonly event: 'succeed'; readonly outputs: readonly Output[] } & Costly & Fenced)
  | ({ readonly event: 'fail'; readonly error: TaskError } & Costly & Fenced)
  /** Cancelled while running: the provider stopped, was never asked, or failed by itself, which costs nothing. */
  | ({ readonly event: 'stop'; readonly outputs: readonly Output[]; readonly hasFailed?: boolean } & Costly & Fenced)
  | { readonly event: 'cancel' }
  | { readonly event: 'give-up'; readonly error: TaskError }
  /** The deadline has passed, and the provider may have the result: a worker may poll and download for `periodMs` more. */
  | ({ readonly event: 'allow-last-poll'; readonly periodMs: number } & Fenced)
  | { readonly event: 'allow-last-poll'; readonly periodMs: number }
  /** The deadline, and the period for a last poll, have passed and no worker holds a live lease. */
  | { readonly event: 'expire'; readonly error: TaskError }
  | { readonly event: 'postpone'; readonly until: number }
  | ({ readonly event: 'settle' } & Retention)
  /** Nothing was charged, and the request is no longer kept. */
  | ({ readonly event: 'content-removed' } & Retention)
  | ({ readonly event: 'outputs-removed' } & Retention)
  /** A thumbnail of an output is about to be stored. */
  | {
      readonly event: 'thumbnail-made';
      readonly mediaId: string;
      readonly sidePx: ThumbnailSide;
      readonly byteSize: number;
    }
  | { readonly event: 'late-report'; readonly state: string }
  /** Its client wants it gone. */
  | { readonly event: 'delete' };

/** Everything that can happen to a generation. `decide` checks who may cause it, and when. */
export type GenerationEvent = GenerationCommand['event'];
type Of<E extends GenerationEvent> = Extract<GenerationCommand, { event: E }>;

/** The clock, the time to stamp on the generation, which is never before the stored one, and the boot that decides. */
export interface Occasion {
  readonly now: number;
  readonly at: number;
  readonly boot: Boot;
}

type Unfenced<C> = C extends unknown ? Omit<C, 'fence'> : never;
/** A command of the worker that has the lease, without the fence. */
export type HolderCommand = Unfenced<Extract<GenerationCommand, { fence: number }>>;

/**
 * `NOT_ALLOWED`: the table has no such step from here. `FENCE_STALE`: another worker has taken over. `LEASE_HELD`: a
 * live lease, or the wait for the next attempt, prevents it. `DEADLINE_PASSED`: too late to continue. `LAST_POLL_DUE`: the
 * provider may have the result, and has to be polled once more first. `NOTHING_TO_DO`: the generation is already as requested.
 */
export type GenerationRefusal =
  | 'NOT_ALLOWED'
  | 'FENCE_STALE'
  | 'LEASE_HELD'
  | 'DEADLINE_PASSED'
  | 'LAST_POLL_DUE'
  | 'NOTHING_TO_DO';

export type GenerationDecision = { readonly refused: GenerationRefusal } | { readonly next: Generation };

function beginAttempt(
  g: Generation,
  { token, provider }: Omit<Of<'begin-attempt'>, 'event' | 'fence'>,
  { now, at, boot }: Occasion,
): GenerationDecision {
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

function submitAgain(
  g: Generation,
  { isNotTaken }: Of<'submit-again'>,
  { now, at, boot }: Occasion,
): GenerationDecision {
  if (!isNotTaken && !hasSubmissionLeft(g)) return { refused: 'NOT_ALLOWED' };
  if (g.cancelRequestedAt !== undefined) return { refused: 'NOT_ALLOWED' };
  if (g.runDeadlineAt !== undefined && now > g.runDeadlineAt) return { refused: 'DEADLINE_PASSED' };
  const again = ({ endedAt: _, ...attempt }: Attempt): Attempt => ({ ...attempt, startedAt: at, bootId: boot.id });
  return whileSubmitting(isNotTaken ? g : { ...g, submissionsMade: submissionsMadeOf(g) + 1 }, again, at);
}

/** Changes the attempt as long as it is unknown whether it was accepted. */
function whileSubmitting(g: Generation, changed: (attempt: Attempt) => Attempt, at: number): GenerationDecision {
  if (g.attempt?.phase !== 'submitting') return { refused: 'NOT_ALLOWED' };
  return { next: { ...g, attempt: changed(g.attempt), updatedAt: at } };
}

function accepted(g: Generation, command: Of<'accepted'>, at: number): GenerationDecision {
  if (!g.attempt) return { refused: 'NOT_ALLOWED' };
  const { endedAt: _, ...attempt } = g.attempt;
  const known = 'delivered' in command ? { delivered: command.delivered } : { reference: command.reference };
  return { next: { ...g, attempt: { ...attempt, phase: 'submitted', ...known }, updatedAt: at } };
}

function undoAttempt(g: Generation, command: Of<'attempt-undone'>): GenerationDecision {
  const { notHere } = command;
  if (g.attempt?.phase !== 'submitting') return { refused: 'NOT_ALLOWED' };
  const refusedBy = notHere === undefined ? {} : { notHere: [...new Set([...(g.notHere ?? []), notHere])] };
  return { next: { ...withoutUnsentAttempt(g), ...refusedBy } };
}

/** The last report of an attempt's cost at a provider replaces one before. */
function withCost(g: Generation, cost: ProviderCost | undefined): Generation {
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
function withoutUnsentAttempt(g: Generation): Generation {
  return g.attempt?.phase === 'submitting'
    ? withoutAttempt(withoutLastSubmission({ ...g, attemptsMade: g.attemptsMade - 1 }))
    : g;
}

/** The last submission was certainly refused: it does not count. */
export function withoutLastSubmission(g: Generation): Generation {
  const { submissionsMade } = g;
  return submissionsMade === undefined ? g : { ...g, submissionsMade: Math.max(0, submissionsMade - 1) };
}

/**
 * Maps status and event to the next status. Transitions that are not listed are refused. After the end only bookkeeping
 * is left: nothing that a client sees changes any more.
 */
export const TRANSITIONS: {
  readonly [S in GenerationStatus]: Partial<Readonly<Record<GenerationEvent, GenerationStatus>>>;
} = {
  queued: {
    'start': 'running',
    'cancel': 'cancelled',
    'give-up': 'failed',
    'postpone': 'queued',
  },
  running: {
    'take-over': 'running',
    'renew': 'running',
    're-lease': 'running',
    'begin-attempt': 'running',
    'submit-again': 'running',
    'submission-ended': 'running',
    'accepted': 'running',
    'attempt-failed': 'running',
    'attempt-undone': 'running',
    'yield': 'running',
    'allow-last-poll': 'running',
    'cancel': 'running',
    'succeed': 'succeeded',
    'fail': 'failed',
    'expire': 'failed',
    'stop': 'cancelled',
    'postpone': 'running',
  },
  succeeded: { ...bookkeeping('succeeded'), 'thumbnail-made': 'succeeded' },
  failed: bookkeeping('failed'),
  // With what the provider delivered before it stopped.
  cancelled: { ...bookkeeping('cancelled'), 'thumbnail-made': 'cancelled' },
};

function bookkeeping<S extends GenerationStatus>(status: S) {
  return {
    'settle': status,
    'postpone': status,
    'content-removed': status,
    'outputs-removed': status,
    'late-report': status,
    'delete': status,
  } as const;
}

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

function change(g: Generation, command: GenerationCommand, occasion: Occasion): GenerationDecision {
  const { now, at } = occasion;
  switch (command.event) {
    case 'start':
      return start(g, command, occasion);
    case 'take-over':
      return takeOver(g, command, occasion);
    case 'renew':
      return renew(g, command, occasion);
    case 're-lease':
      if (!g.lease) return { refused: 'FENCE_STALE' };
      return { next: leased(g, { worker: g.lease.worker, leaseMs: command.leaseMs }, occasion) };
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
    case 'succeed': {
      const { outputs } = command;
      if (outputs.length === 0) return { refused: 'NOT_ALLOWED' };
      return { next: { ...g, outputs, chargedCredits: priceOfDelivered(g, outputs) } };
    }
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
      if (g.cancelRequestedAt !== undefined) return { refused: 'NOTHING_TO_DO' };
      return { next: { ...g, cancelRequestedAt: now, updatedAt: at } };
    case 'postpone':
      return { next: { ...g, dueAt: command.until } };
    case 'settle':
      if (g.settledAt !== undefined) return { refused: 'NOTHING_TO_DO' };
      return { next: untilNextRemoval({ ...g, settledAt: at }, command) };
    case 'content-removed':
      return removeContent(g, command, at);
    case 'outputs-removed':
      return { next: untilNextRemoval({ ...g, outputs: withoutThumbnails(g), outputsRemovedAt: at }, command) };
    case 'thumbnail-made':
      return addThumbnail(g, command);
    case 'late-report':
      return g.lateReport ? { refused: 'NOTHING_TO_DO' } : { next: { ...g, lateReport: { state: command.state, at } } };
    case 'delete':
      return remove(g, at);
  }
}

function waitingForRetry(g: Generation, retryAt: number, at: number): Generation {
  return { ...leftUntil(g, retryAt, at), retryAt };
}

/** Without a lease, and due at `dueAt`: recovery wakes it if no other process does. */
function leftUntil(g: Generation, dueAt: number, at: number): Generation {
  return { ...withoutLease(g), updatedAt: at, dueAt: dueAt + ATTENTION_MARGIN_MS };
}

function start(g: Generation, command: Of<'start'>, occasion: Occasion): GenerationDecision {
  if (occasion.now > g.terms.queueDeadlineAt) return { refused: 'DEADLINE_PASSED' };
  const begun = beginAttempt({ ...g, runDeadlineAt: occasion.now + g.terms.runTimeoutMs }, command, occasion);
  return 'refused' in begun ? begun : { next: leased(begun.next, command, occasion) };
}

function takeOver(g: Generation, command: Of<'take-over'>, occasion: Occasion): GenerationDecision {
  if (!mayBeTakenOver(g, occasion.now, occasion.boot)) return { refused: 'LEASE_HELD' };
  return { next: leased(g, command, occasion) };
}

function leased(
  g: Generation,
  { worker, leaseMs }: Omit<Of<'take-over'>, 'event'>,
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
 * A result that became ready while no worker could collect it is not lost: whoever finds the deadline passed allows one
 * more poll, once.
 */
function allowLastPoll(g: Generation, command: Of<'allow-last-poll'>, { now, at, boot }: Occasion): GenerationDecision {
  if (g.lastPollBy !== undefined) return { refused: 'NOTHING_TO_DO' };
  if (!mayHaveResult(g) || now <= (g.runDeadlineAt ?? Infinity)) return { refused: 'NOT_ALLOWED' };
  if (!('fence' in command) && hasLiveLease(g, now, boot)) return { refused: 'LEASE_HELD' };
  const allowed = { ...g, lastPollBy: now + command.periodMs };
  return { next: { ...allowed, updatedAt: at, dueAt: attentionAfter(allowed, g.lease?.expiresAt ?? now) } };
}

function expire(g: Generation, { error }: Of<'expire'>, { now, boot }: Occasion): GenerationDecision {
  if (hasLiveLease(g, now, boot)) return { refused: 'LEASE_HELD' };
  if (mayHaveResult(g) && (g.lastPollBy === undefined || now <= g.lastPollBy)) return { refused: 'LAST_POLL_DUE' };
  return { next: { ...g, error } };
}

function renew(g: Generation, command: Of<'renew'>, { now, at }: Occasion): GenerationDecision {
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

/** The floor is for work a provider did: a task that was never handed over costs nothing. */
function stop(g: Generation, { outputs, hasFailed }: Of<'stop'>): GenerationDecision {
  if (g.cancelRequestedAt === undefined) return { refused: 'NOT_ALLOWED' };
  const floor = g.attempt?.phase === 'submitted' && !hasFailed ? g.terms.cancelFloorCredits : 0;
  const chargedCredits = Math.min(g.reservedCredits, Math.max(floor, priceOfDelivered(g, outputs)));
  return { next: { ...g, outputs, chargedCredits } };
}

/** Charged content is kept as long as the generation; that of an unsettled one may still be needed. */
function removeContent(g: Generation, command: Of<'content-removed'>, at: number): GenerationDecision {
  if (g.contentRemovedAt !== undefined) return { refused: 'NOTHING_TO_DO' };
  if (g.settledAt === undefined || !hasUnchargedContent(g)) return { refused: 'NOT_ALLOWED' };
  return { next: untilNextRemoval({ ...withoutContent(g), contentRemovedAt: at }, command) };
}

/** Nothing is stored beside an output that is gone. */
function addThumbnail(g: Generation, { mediaId, sidePx, byteSize }: Of<'thumbnail-made'>): GenerationDecision {
  const of = g.outputs.find((output) => output.mediaId === mediaId);
  if (of === undefined || g.deletedAt !== undefined || g.outputsRemovedAt !== undefined)
    return { refused: 'NOT_ALLOWED' };
  if (of.thumbnailBytes?.[sidePx] === byteSize) return { refused: 'NOTHING_TO_DO' };
  const made = { ...of, thumbnailBytes: { ...of.thumbnailBytes, [sidePx]: byteSize } };
  return { next: { ...g, outputs: g.outputs.map((output) => (output === of ? made : output)) } };
}

function withoutThumbnails({ outputs }: Generation): Generation['outputs'] {
  if (thumbnailBytesOf({ outputs }) === undefined) return outputs;
  return outputs.map(({ thumbnailBytes: _thumbnailBytes, ...output }) => output);
}

/** Marks the generation as deleted. One that is not settled is refused, because its charge is still due. */
function remove(g: Generation, at: number): GenerationDecision {
  if (g.deletedAt !== undefined) return { refused: 'NOTHING_TO_DO' };
  if (g.settledAt === undefined) return { refused: 'NOT_ALLOWED' };
  return { next: { ...emptied(g), deletedAt: at, dueAt: at + ATTENTION_MARGIN_MS } };
}

function untilNextRemoval(g: Generation, retention: Retention): Generation {
  return { ...g, dueAt: nextRemovalAt(g, retention) };
}

/** Applies the changes that every end of a generation has in common, whatever its outcome. */
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
 * Whether another worker may continue it: it is not leased, and its next attempt is due. A dead holder may have left a
 * submission in flight: if polled too early, the provider would report that it has no such task, and receive it a
 * second time. So in that case the lease must lapse first.
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
