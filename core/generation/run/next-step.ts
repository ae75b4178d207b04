import type { ProviderFailure } from '../../ports/provider.js';
import type { Settings } from '../../settings.js';
import type { Attempt, DeliveredObject, Generation } from '../generation.js';
import { taskError } from '../task-errors.js';
import { failure } from './failures.js';
import type { UndoneBecause } from './hand-over.js';
import type { HolderCommand } from './lease-holder.js';
import type { FinishedReport, News, RunState } from './run-state.js';
import { notTakenAt, type SettleRules } from './settle-time.js';
import { backoffMs, boundedWaitMs } from './waiting.js';

const MAX_SILENT_POLLS = 10;
/** The most submissions of one attempt in one run. */
const MAX_SUBMISSIONS = 10;
/** What a provider has made is worth more than one try to fetch and store it. */
export const MAX_COLLECTIONS = 4;
const MAX_UNKNOWN_REPORTS = 3;

export type Ending = Extract<HolderCommand, { event: 'succeed' | 'fail' | 'stop' }>;

/** The next step of a run. `stopping` is a reference that the provider is first asked to stop. */
export type RunStep =
  | { readonly do: 'hand-back'; readonly isUnsent: boolean }
  | { readonly do: 'begin-attempt' }
  | { readonly do: 'submit'; readonly attempt: Attempt }
  /** Asks the provider whether it has the task of this token. */
  | { readonly do: 'recover'; readonly token: string }
  /** Records that the attempt is submitted once more, after which it may be, without asking. */
  | { readonly do: 'allow-submit'; readonly token: string; readonly afterMs: number }
  | { readonly do: 'accept'; readonly reference: string }
  | { readonly do: 'poll'; readonly reference: string; readonly stopping?: string }
  | { readonly do: 'collect'; readonly reference: string; readonly report: FinishedReport }
  /** Checks what the provider delivered in its answer to the submission. */
  | { readonly do: 'inspect'; readonly delivered: readonly DeliveredObject[] }
  /** Reads the newest version before the consequence of the failure is decided. */
  | { readonly do: 'end-attempt'; readonly failure: ProviderFailure; readonly stopping?: string }
  | { readonly do: 'retry'; readonly retryAt: number }
  /** The attempt was certainly not taken and does not count; with `isNotHere`, the provider is not asked again. */
  | { readonly do: 'undo'; readonly retryAt: number; readonly isNotHere: boolean }
  | { readonly do: 'rest'; readonly ms: number }
  | { readonly do: 'finish'; readonly command: Ending; readonly stopping?: string };

/** What of the model and the settings a step depends on. */
export interface RunRules extends SettleRules {
  /** Whether an attempt of unknown outcome may be submitted again (the model's `on_unknown_acceptance`). */
  readonly mayResubmit: boolean;
  readonly pollIntervalMs: number;
  /** Whether the model's route has another provider that this generation may go to. */
  readonly hasOtherProvider: boolean;
  readonly settings: Pick<Settings, 'cancelGraceMs' | 'leaseMs' | 'retryBaseMs' | 'retryCapMs' | 'retryAfterCapMs'>;
}

interface Situation {
  readonly g: Generation;
  readonly state: RunState;
  readonly now: number;
  readonly rules: RunRules;
}

/** One row of a table: its step if it applies, undefined if the next row is to be tried. */
type Row = (situation: Situation) => RunStep | undefined;

/** The next step of a run whose lease this worker holds, by the newest version it read. Pure; one is always found. */
export function nextStep(g: Generation, state: RunState, now: number, rules: RunRules): RunStep {
  const situation = { g, state, now, rules };
  return state.news === undefined ? first(WITHOUT_NEWS, situation) : stepOn(state.news, situation);
}

/** The steps when no provider answer is at hand: the first row that applies. */
const WITHOUT_NEWS: readonly Row[] = [
  ({ g, state }) =>
    state.isStopping
      ? { do: 'hand-back', isUnsent: g.attempt !== undefined && g.attempt.token === state.neverSentToken }
      : undefined,
  ({ g, state, now }) => (now > (g.runDeadlineAt ?? Infinity) ? timeOut(g, state) : undefined),
  ({ g }) => (g.attempt === undefined && g.cancelRequestedAt !== undefined ? STOP : undefined),
  ({ g }) => (g.attempt === undefined ? { do: 'begin-attempt' } : undefined),
  // What is delivered already takes no more waiting.
  ({ g: { attempt } }) =>
    attempt?.delivered === undefined ? undefined : { do: 'inspect', delivered: attempt.delivered },
  (situation) => (situation.now > graceEndsAt(situation) ? STOP : undefined),
  ({ g }) => pollOf(g),
  ({ g, state, rules }) =>
    isUnknown(g, state) && state.unknownRounds >= MAX_SILENT_POLLS
      ? { do: 'end-attempt', failure: unavailable(rules) }
      : undefined,
  ({ g, state }) =>
    g.attempt !== undefined && isUnknown(g, state) ? { do: 'recover', token: g.attempt.token } : undefined,
  ({ g }) => (g.cancelRequestedAt !== undefined ? STOP : undefined),
  // A lapsed lease may belong to another worker; the next renewal finds out.
  (situation) =>
    (situation.g.lease?.expiresAt ?? 0) <= situation.now
      ? rest(situation, backoffMs(situation.rules.settings, 1))
      : undefined,
  // Nobody may take it for ended before it has begun.
  ({ g: { attempt }, now, rules: { longestSubmitMs } }) =>
    attempt !== undefined && now >= attempt.startedAt + longestSubmitMs
      ? { do: 'allow-submit', token: attempt.token, afterMs: 0 }
      : undefined,
  ({ g: { attempt } }) => (attempt === undefined ? undefined : { do: 'submit', attempt }),
];

/** After a failed attempt: the first row that applies. */
const AFTER_ATTEMPT: readonly ((
  situation: Situation,
  failure: ProviderFailure,
  because: UndoneBecause | undefined,
) => RunStep | undefined)[] = [
  ({ g }) =>
    g.cancelRequestedAt !== undefined
      ? { do: 'finish', command: { event: 'stop', outputs: [], hasFailed: true } }
      : undefined,
  (situation, { retryAfterMs }, because) =>
    because === 'capacity' ? untilThereIsCapacity(situation, retryAfterMs) : undefined,
  (situation, _failure, because) =>
    because === 'unread' ? undoneFor(situation, untilTriedAgainMs(situation)) : undefined,
  ({ now, rules }, _failure, because) =>
    because === 'not-here' && rules.hasOtherProvider ? { do: 'undo', retryAt: now, isNotHere: true } : undefined,
  (situation, { mayRetry, retryAfterMs }, because) =>
    mayRetry && because === undefined ? retryOf(situation, retryAfterMs) : undefined,
  (_, { code, message }) => ({ do: 'finish', command: { event: 'fail', error: taskError(code, message) } }),
];

const STOP: RunStep = { do: 'finish', command: { event: 'stop', outputs: [] } };

function stepOn(news: News, situation: Situation): RunStep {
  switch (news.of) {
    case 'recover':
      return afterRecover(situation, news);
    case 'poll':
      return afterPoll(situation, news);
    case 'collect':
      return afterCollect(situation, news);
    case 'failed-collect':
      return afterFailedCollect(situation, news);
    case 'ended-attempt':
      return first(
        AFTER_ATTEMPT.map(
          (row): Row =>
            (one) =>
              row(one, news.failure, news.because),
        ),
        situation,
      );
  }
}

function afterRecover(situation: Situation, { token, answer }: Extract<News, { of: 'recover' }>): RunStep {
  const { g, state, now, rules } = situation;
  if (answer === 'silent') return rest(situation, backoffMs(situation.rules.settings, state.unknownRounds));
  // A provider that does not know yet is asked until it does: only the deadline, or the grace after a cancel, ends the
  // waiting.
  if (answer !== 'unsupported' && answer.found === 'not-yet') {
    const leastMs = backoffMs(situation.rules.settings, answer.retryAfterMs === undefined ? state.notYetAnswers : 1);
    return rest(situation, boundedWaitMs(answer.retryAfterMs, leastMs, rules.settings.retryAfterCapMs));
  }
  if (answer !== 'unsupported' && answer.found) return { do: 'accept', reference: answer.reference };
  if (g.cancelRequestedAt !== undefined) return STOP;
  if (answer === 'unsupported' && !rules.mayResubmit)
    return { do: 'end-attempt', failure: failure('PROVIDER_UNAVAILABLE', false) };
  if (!rules.mayResubmit) {
    const believedAt = notTakenAt(g, state, now, rules);
    return believedAt <= now ? submitAgain(situation, token, 0) : rest(situation, believedAt - now);
  }
  return submitAgain(situation, token, state.submissions > 1 ? backoffMs(rules.settings, state.submissions - 1) : 0);
}

/** Each submission is asked about before the attempt is given up: the last one may have been taken. */
function submitAgain(situation: Situation, token: string, afterMs: number): RunStep {
  return situation.state.submissions < MAX_SUBMISSIONS
    ? { do: 'allow-submit', token, afterMs: Math.min(afterMs, timeLeftMs(situation)) }
    : { do: 'end-attempt', failure: unavailable(situation.rules) };
}

function afterPoll(situation: Situation, { reference, report }: Extract<News, { of: 'poll' }>): RunStep {
  const { g, state, rules } = situation;
  switch (report.state) {
    case 'silent':
      return state.silentPolls >= MAX_SILENT_POLLS
        ? { do: 'end-attempt', failure: unavailable(rules), stopping: reference }
        : rest(situation, backoffMs(situation.rules.settings, state.silentPolls));
    case 'running':
      return rest(
        situation,
        report.pollAfterMs !== undefined && report.pollAfterMs > 0 ? report.pollAfterMs : rules.pollIntervalMs,
      );
    case 'failed':
      return { do: 'end-attempt', failure: report.failure };
    // A provider that has accepted a task and no longer knows it may be eventually consistent: it is asked again. Some
    // forget what is cancelled.
    case 'unknown':
      return g.cancelRequestedAt !== undefined || state.unknownReports >= MAX_UNKNOWN_REPORTS
        ? { do: 'end-attempt', failure: unavailable(rules) }
        : rest(situation, backoffMs(situation.rules.settings, state.unknownReports));
    case 'succeeded':
    case 'cancelled':
      return { do: 'collect', reference, report };
  }
}

function afterCollect({ g }: Situation, { report, outputs }: Extract<News, { of: 'collect' }>): RunStep {
  if (report.state === 'succeeded') {
    return outputs.length > 0
      ? { do: 'finish', command: { event: 'succeed', outputs } }
      : { do: 'end-attempt', failure: failure('OUTPUT_INVALID', true) };
  }
  return g.cancelRequestedAt === undefined
    ? { do: 'end-attempt', failure: failure('PROVIDER_REJECTED', true) }
    : { do: 'finish', command: { event: 'stop', outputs } };
}

/**
 * While our own store is unavailable there is nothing to ask of the provider again; only the deadline ends the waiting.
 */
function afterFailedCollect(situation: Situation, { isStoreAway }: Extract<News, { of: 'failed-collect' }>): RunStep {
  const { failedCollections } = situation.state;
  if (!isStoreAway && failedCollections >= MAX_COLLECTIONS)
    return { do: 'end-attempt', failure: failure('OUTPUT_INVALID', true) };
  return rest(situation, backoffMs(situation.rules.settings, failedCollections));
}

function timeOut({ attempt }: Generation, { isStoreAway }: RunState): RunStep {
  const command: Ending = { event: 'fail', error: taskError(isStoreAway ? 'OUTPUT_STORE_FAILED' : 'TASK_TIMEOUT') };
  return { do: 'finish', command, ...(attempt?.reference === undefined ? {} : { stopping: attempt.reference }) };
}

function pollOf({ attempt, cancelRequestedAt }: Generation): RunStep | undefined {
  if (attempt?.phase !== 'submitted' || attempt.reference === undefined) return undefined;
  const { reference } = attempt;
  return { do: 'poll', reference, ...(cancelRequestedAt === undefined ? {} : { stopping: reference }) };
}

/** Whether the attempt on record may have been submitted. */
function isUnknown({ attempt }: Generation, { unsentToken }: RunState): boolean {
  return attempt !== undefined && attempt.token !== unsentToken;
}

/**
 * A full provider is tried again after as long as the run has lasted, or as it asks, within the bounds of a retry. A
 * generation with another provider looks for one that has capacity immediately.
 */
function untilThereIsCapacity(situation: Situation, retryAfterMs: number | undefined): RunStep | undefined {
  const { hasOtherProvider, settings } = situation.rules;
  const waitMs = boundedWaitMs(retryAfterMs, untilTriedAgainMs(situation), settings.retryAfterCapMs);
  return undoneFor(situation, hasOtherProvider ? 0 : waitMs);
}

/** As long as the run has lasted, within the bounds of a retry. */
function untilTriedAgainMs({ g, now, rules }: Situation): number {
  const { retryBaseMs, retryCapMs } = rules.settings;
  const lastedMs = now - ((g.runDeadlineAt ?? Infinity) - g.terms.runTimeoutMs);
  return Math.max(retryBaseMs, Math.min(retryCapMs, Number.isFinite(lastedMs) ? lastedMs : 0));
}

function undoneFor({ g, now }: Situation, waitMs: number): RunStep | undefined {
  const retryAt = now + waitMs;
  return retryAt < (g.runDeadlineAt ?? Infinity) ? { do: 'undo', retryAt, isNotHere: false } : undefined;
}

/** The next attempt, where there may be one more and it can begin in time. */
function retryOf(situation: Situation, retryAfterMs: number | undefined): RunStep | undefined {
  const { g, now, rules } = situation;
  const retryAt =
    now +
    boundedWaitMs(retryAfterMs, backoffMs(situation.rules.settings, g.attemptsMade), rules.settings.retryAfterCapMs);
  return g.attemptsMade < g.terms.maxAttempts && retryAt < (g.runDeadlineAt ?? Infinity)
    ? { do: 'retry', retryAt }
    : undefined;
}

function unavailable({ mayResubmit }: RunRules): ProviderFailure {
  return failure('PROVIDER_UNAVAILABLE', mayResubmit);
}

/** Pauses, but not past the time at which this generation ends whatever the provider answers. */
function rest(situation: Situation, ms: number): RunStep {
  return { do: 'rest', ms: Math.min(ms, timeLeftMs(situation)) };
}

/** Until the deadline, or the end of the provider's grace after a cancel, has just passed. */
export function timeLeftMs(situation: Situation): number {
  const endsAt = Math.min(situation.g.runDeadlineAt ?? Infinity, graceEndsAt(situation));
  return Math.max(0, endsAt - situation.now) + 1;
}

/** Until when a provider that was asked to stop, or cannot say whether it has the task, is waited for. */
function graceEndsAt({ g: { attempt }, state: { cancelSeenAt = Infinity }, rules }: Situation): number {
  return attempt?.delivered === undefined ? cancelSeenAt + rules.settings.cancelGraceMs : Infinity;
}

function first(rows: readonly Row[], situation: Situation): RunStep {
  for (const row of rows) {
    const step = row(situation);
    if (step !== undefined) return step;
  }
  throw new Error('Broken invariant: the last row of a table of steps always applies');
}
