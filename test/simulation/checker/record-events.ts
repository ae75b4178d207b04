import type { Generation } from '../../../core/generation/generation.js';
import { ENDED_RANK, rankOf } from '../../history/task.js';
import { changedMembers } from '../../history/values.js';

/** From status, event and status: every documented transition of a generation. */
export const ALLOWED: ReadonlySet<string> = new Set([
  'queued start running',
  'queued cancel cancelled',
  'queued give-up failed',
  'queued postpone queued',
  'running take-over running',
  'running renew running',
  'running re-lease running',
  'running begin-attempt running',
  'running submit-again running',
  'running submission-ended running',
  'running accepted running',
  'running attempt-failed running',
  'running yield running',
  'running allow-last-poll running',
  'running cancel running',
  'running postpone running',
  'running succeed succeeded',
  'running fail failed',
  'running expire failed',
  'running stop cancelled',
  ...['succeeded', 'failed', 'cancelled'].flatMap((ended) =>
    ['settle', 'postpone', 'content-removed', 'outputs-removed', 'late-report', 'delete'].map(
      (event) => `${ended} ${event} ${ended}`,
    ),
  ),
  'succeeded thumbnail-made succeeded',
  'cancelled thumbnail-made cancelled',
]);

const ENDING = ['status', 'completedAt', 'updatedAt', 'lease', 'retryAt', 'unchargedBytes'];

/** The members that each event may change, besides the version and the time at which recovery looks. */
const MAY_CHANGE: Readonly<Record<string, readonly string[]>> = {
  'start': ['status', 'fence', 'lease', 'attempt', 'attemptsMade', 'submissionsMade', 'runDeadlineAt', 'updatedAt'],
  'take-over': ['fence', 'lease', 'retryAt', 'updatedAt'],
  'renew': ['lease', 'progress', 'updatedAt'],
  're-lease': ['fence', 'lease', 'updatedAt'],
  'begin-attempt': ['attempt', 'attemptsMade', 'submissionsMade', 'updatedAt'],
  'submit-again': ['attempt', 'submissionsMade', 'updatedAt'],
  'submission-ended': ['attempt', 'updatedAt'],
  'accepted': ['attempt', 'costs', 'updatedAt'],
  'attempt-failed': ['attempt', 'submissionsMade', 'costs', 'lease', 'retryAt', 'updatedAt'],
  // Also for an attempt that was definitely not accepted.
  'yield': ['attempt', 'attemptsMade', 'submissionsMade', 'notHere', 'costs', 'lease', 'retryAt', 'updatedAt'],
  'allow-last-poll': ['lastPollBy', 'updatedAt'],
  'cancel': ['cancelRequestedAt', 'status', 'completedAt', 'updatedAt', 'unchargedBytes'],
  'give-up': ['error', ...ENDING],
  'fail': ['error', 'costs', ...ENDING],
  'expire': ['error', ...ENDING],
  'succeed': ['outputs', 'chargedCredits', 'costs', ...ENDING],
  'stop': ['outputs', 'chargedCredits', 'costs', ...ENDING],
  'postpone': [],
  'settle': ['settledAt'],
  'content-removed': ['prompt', 'negativePrompt', 'parameters', 'references', 'unchargedBytes', 'contentRemovedAt'],
  'outputs-removed': ['outputsRemovedAt'],
  'thumbnail-made': [],
  'late-report': ['lateReport'],
  'delete': ['prompt', 'negativePrompt', 'parameters', 'references', 'unchargedBytes', 'deletedAt'],
};

export function hasEnded({ status }: Pick<Generation, 'status'>): boolean {
  return rankOf(status) === ENDED_RANK;
}

/**
 * The event that turned one version into the next, derived from the two alone. A failure written by the holder of the
 * lease is a `fail`, one by any other process an `expire`: only the writer distinguishes them.
 */
export function classify(before: Generation, next: Generation, process?: string): string {
  if (before.status !== next.status) return classifyMove(before, next, process);
  if (hasEnded(before)) return classifyBookkeeping(before, next);
  return before.status === 'running' ? classifyStep(before, next) : 'postpone';
}

function classifyMove(before: Generation, next: Generation, process: string | undefined): string {
  switch (`${before.status} ${next.status}`) {
    case 'queued running':
      return 'start';
    case 'queued cancelled':
      return 'cancel';
    case 'queued failed':
      return 'give-up';
    case 'running succeeded':
      return 'succeed';
    case 'running cancelled':
      return 'stop';
    case 'running failed':
      return before.lease !== undefined && before.lease.worker === (process ?? before.lease.worker) ? 'fail' : 'expire';
    default:
      return 'unknown';
  }
}

function classifyBookkeeping(before: Generation, next: Generation): string {
  if (before.settledAt !== next.settledAt) return 'settle';
  if (before.deletedAt !== next.deletedAt) return 'delete';
  if (before.contentRemovedAt !== next.contentRemovedAt) return 'content-removed';
  if (before.outputsRemovedAt !== next.outputsRemovedAt) return 'outputs-removed';
  if (thumbnailsOf(before) !== thumbnailsOf(next)) return 'thumbnail-made';
  return before.lateReport?.at === next.lateReport?.at ? 'postpone' : 'late-report';
}

function thumbnailsOf({ outputs }: Generation): string {
  return JSON.stringify(outputs.map(({ thumbnailBytes }) => thumbnailBytes ?? null));
}

/** Outputs never change; only the sizes of their thumbnails are recorded, and removed with the outputs. */
function withoutThumbnails(g: Generation): Generation {
  return { ...g, outputs: g.outputs.map(({ thumbnailBytes: _thumbnailBytes, ...output }) => output) };
}

function classifyStep(before: Generation, next: Generation): string {
  if (before.fence !== next.fence) return isOwnLive(before, next) ? 're-lease' : 'take-over';
  if (before.cancelRequestedAt !== next.cancelRequestedAt) return 'cancel';
  if (before.lastPollBy !== next.lastPollBy) return 'allow-last-poll';
  if (!before.attempt && next.attempt) return 'begin-attempt';
  if (before.attempt && !next.attempt) return before.attemptsMade === next.attemptsMade ? 'attempt-failed' : 'yield';
  if (before.lease && !next.lease) return 'yield';
  if (before.attempt?.phase !== next.attempt?.phase || before.attempt?.reference !== next.attempt?.reference)
    return 'accepted';
  const isSubmittedAgain =
    before.attempt?.startedAt !== next.attempt?.startedAt ||
    before.attempt?.bootId !== next.attempt?.bootId ||
    before.submissionsMade !== next.submissionsMade;
  if (isSubmittedAgain) return 'submit-again';
  if (before.attempt?.endedAt !== next.attempt?.endedAt) return 'submission-ended';
  const isRenewed =
    before.lease?.renewedAt !== next.lease?.renewedAt || before.lease?.expiresAt !== next.lease?.expiresAt;
  return isRenewed || before.updatedAt !== next.updatedAt || before.progress !== next.progress ? 'renew' : 'postpone';
}

/** A holder whose lease had not lapsed took a new one; if it had lapsed, that would be an ordinary take-over. */
function isOwnLive({ lease }: Generation, next: Generation): boolean {
  return lease !== undefined && lease.worker === next.lease?.worker && lease.expiresAt > next.lease.renewedAt;
}

/** The error of a step, if any: no such transition, or a change that this event may not make. */
export function faultOf(before: Generation, event: string, next: Generation): string | undefined {
  if (!ALLOWED.has(`${before.status} ${event} ${next.status}`))
    return `there is no ${event} from ${before.status} to ${next.status}`;
  const may = MAY_CHANGE[event] ?? [];
  const more = changedMembers(withoutThumbnails(before), withoutThumbnails(next)).filter(
    (name) => name !== 'version' && name !== 'dueAt' && !may.includes(name),
  );
  return more.length === 0
    ? undefined
    : `${event} changed ${more.map((name) => `${name} (${show(before, name)} to ${show(next, name)})`).join(', ')}`;
}

function show(generation: Generation, name: string): string {
  return JSON.stringify(new Map<string, unknown>(Object.entries(generation)).get(name)) ?? 'nothing';
}
