import type { ProviderFailure } from '../../providers/provider-report.js';
import { backoffMs, boundedWaitMs, type Settings } from '../../settings.js';
import { hasAttemptLeft, hasSubmissionLeft, type HolderCommand, withoutLastSubmission } from '../decide.js';
import {
  type Attempt,
  type DeliveredObject,
  type Generation,
  mayHaveResult,
  runEndsAt,
  submissionsMadeOf,
  taskError,
} from '../generation.js';
import {
  failure,
  type FinishedReport,
  forgottenAt,
  type News,
  notTakenAt,
  type RunState,
  type RunTime,
  type SettleRules,
  type Silence,
} from './run-state.js';

/** The number of rounds without a statement after which an attempt is resubmitted, if its model allows that. */
const MAX_UNKNOWN_ROUNDS = 10;
/** The most submissions of one attempt in one run, those included that were certainly not taken. */
const MAX_SUBMISSIONS = 10;

export type Ending = Extract<HolderCommand, { event: 'succeed' | 'fail' | 'stop' }>;

/** The next step of a run. `stopping` is a task reference that the provider is asked to stop first. */
export type RunStep =
  | { readonly do: 'hand-back'; readonly isUnsent: boolean }
  | { readonly do: 'begin-attempt' }
  | { readonly do: 'submit'; readonly attempt: Attempt }
  /** Asks the provider whether it has the task of this token. */
  | { readonly do: 'recover'; readonly token: string }
  /**
   * Records that the attempt is submitted once more, after which it may be, without asking. `isNotTaken`: the submission
   * before was never sent, or was certainly not taken.
   */
  | { readonly do: 'allow-submit'; readonly token: string; readonly afterMs: number; readonly isNotTaken: boolean }
  | { readonly do: 'accept'; readonly reference: string }
  | { readonly do: 'poll'; readonly reference: string; readonly stopping?: string }
  /** Records that the provider is polled once more though the deadline has passed. */
  | { readonly do: 'allow-last-poll' }
  | { readonly do: 'collect'; readonly reference: string; readonly report: FinishedReport }
  /** Checks what the provider delivered in its answer to the submission. */
  | { readonly do: 'inspect'; readonly delivered: readonly DeliveredObject[] }
  /** Reads the newest version before the consequence of the failure is decided. */
  | { readonly do: 'end-attempt'; readonly failure: ProviderFailure }
  | { readonly do: 'retry'; readonly retryAt: number; readonly isRefused: boolean }
  /** The attempt was certainly not taken and does not count; with `isNotHere`, the provider is not tried again. */
  | { readonly do: 'undo'; readonly retryAt: number; readonly isNotHere: boolean }
  | { readonly do: 'rest'; readonly ms: number }
  | { readonly do: 'finish'; readonly command: Ending; readonly stopping?: string };

/** The rules of the model and the settings that a step depends on. */
export interface RunRules extends SettleRules {
  /** Whether an attempt of unknown outcome may be submitted again (the model's `on_unknown_acceptance`). */
  readonly mayResubmit: boolean;
  /** Whether a task whose outputs are all unusable may be made again (the model's `on_invalid_output`). */
  readonly mayReplaceOutputs: boolean;
  readonly pollIntervalMs: number;
  /** Whether the model's route has another provider that this generation may go to. */
  readonly hasOtherProvider: boolean;
  readonly settings: Pick<Settings, 'cancelGraceMs' | 'leaseMs' | 'retryBaseMs' | 'retryCapMs' | 'retryAfterCapMs'>;
}

interface Situation {
  readonly g: Generation;
  readonly state: RunState;
  readonly time: RunTime;
  readonly rules: RunRules;
}

/** A step, and the name of the row that decided it. */
export interface DecidedStep {
  readonly row: string;
  readonly step: RunStep;
}

/**
 * One row of a table: its step if it applies, undefined if the next row is to be tried. `serves` are the numbers of the
 * invariants in docs/correctness.md for which it is there.
 */
interface Row<N = undefined> {
  readonly name: string;
  readonly serves: readonly number[];
  readonly step: (situation: Situation, news: N) => RunStep | undefined;
}

type NewsOf<T extends News['of']> = Extract<News, { of: T }>;

/** The next step of a run whose lease this worker holds, by the newest version it read. Pure; one is always found. */
export function nextStep(g: Generation, state: RunState, time: RunTime, rules: RunRules): DecidedStep {
  const situation = { g, state, time, rules };
  const { news } = state;
  switch (news?.of) {
    case undefined:
      return first(WITHOUT_NEWS, situation, undefined);
    case 'recover':
      return first(AFTER_RECOVER, situation, news);
    case 'poll':
      return first(AFTER_POLL, situation, news);
    case 'collect':
      return first(AFTER_COLLECT, situation, news);
    case 'failed-collect':
      return first(AFTER_FAILED_COLLECT, situation, news);
    case 'ended-attempt':
      return first(AFTER_ATTEMPT, situation, news);
  }
}

function first<N>(rows: readonly Row<N>[], situation: Situation, news: N): DecidedStep {
  for (const { name, step: stepOf } of rows) {
    const step = stepOf(situation, news);
    if (step !== undefined) return { row: name, step };
  }
  throw new Error('Broken invariant: the last row of a table of steps always applies');
}

/** The steps when no provider answer is at hand: the first row that applies. */
const WITHOUT_NEWS: readonly Row[] = [
  {
    name: 'stop hands the lease back',
    serves: [12, 14],
    step: ({ g, state }) =>
      state.isStopping
        ? { do: 'hand-back', isUnsent: g.attempt !== undefined && g.attempt.token === state.neverSentToken }
        : undefined,
  },
  {
    name: 'deadline without a task at the provider',
    serves: [6, 20],
    step: ({ g, state, time }) => (isLate(g, time) && !mayHaveResult(g) ? timeOut(g, state) : undefined),
  },
  {
    name: 'deadline with a task at the provider',
    serves: [20, 21],
    step: ({ g, time }) => (isLate(g, time) && g.lastPollBy === undefined ? { do: 'allow-last-poll' } : undefined),
  },
  {
    name: 'last period is over',
    serves: [6, 20],
    step: ({ g, state, time }) => (time.now > runEndsAt(g) ? timeOut(g, state) : undefined),
  },
  {
    name: 'last report is collected again',
    serves: [20],
    step: ({ g, state: { finished } }) =>
      g.lastPollBy !== undefined && finished !== undefined ? { do: 'collect', ...finished } : undefined,
  },
  {
    name: 'last poll was made',
    serves: [6, 20],
    step: ({ g, state }) => (g.lastPollBy !== undefined && state.hasPolledLast ? timeOut(g, state) : undefined),
  },
  {
    name: 'cancel before an attempt',
    serves: [10],
    step: ({ g }) => (g.attempt === undefined && g.cancelRequestedAt !== undefined ? STOP : undefined),
  },
  {
    name: 'no attempt is left',
    serves: [21],
    step: ({ g }) =>
      g.attempt === undefined && !hasAttemptLeft(g)
        ? { do: 'finish', command: { event: 'fail', error: taskError('PROVIDER_UNAVAILABLE', UNKNOWN_OUTCOME) } }
        : undefined,
  },
  {
    name: 'attempt begins',
    serves: [12, 20],
    step: ({ g }) => (g.attempt === undefined ? { do: 'begin-attempt' } : undefined),
  },
  {
    // Delivered outputs need no further waiting.
    name: 'delivered outputs are checked',
    serves: [9, 21],
    step: ({ g: { attempt } }) =>
      attempt?.delivered === undefined ? undefined : { do: 'inspect', delivered: attempt.delivered },
  },
  {
    name: 'grace after a cancel is over',
    serves: [6, 20],
    step: (situation) => (situation.time.monotonic > graceEndsAt(situation) ? STOP : undefined),
  },
  {
    name: 'accepted task is polled',
    serves: [5, 21],
    step: ({ g }) => pollOf(g),
  },
  {
    name: 'silence ends an attempt that may be resubmitted',
    serves: [20],
    step: ({ g, state, rules }) =>
      rules.mayResubmit && isUnknown(g, state) && state.unknownRounds >= MAX_UNKNOWN_ROUNDS
        ? { do: 'end-attempt', failure: failure('PROVIDER_UNAVAILABLE', true, UNKNOWN_OUTCOME) }
        : undefined,
  },
  {
    name: 'provider is asked before another submission',
    serves: [5, 21],
    step: ({ g, state }) =>
      g.attempt !== undefined && isUnknown(g, state) ? { do: 'recover', token: g.attempt.token } : undefined,
  },
  {
    name: 'cancel before a submission',
    serves: [10],
    step: ({ g }) => (g.cancelRequestedAt !== undefined ? STOP : undefined),
  },
  {
    // A lapsed lease may belong to another worker; the next renewal finds out.
    name: 'lease is not held by both clocks',
    serves: [14, 21],
    step: (situation) =>
      holdsLease(situation.g, situation.time) ? undefined : rest(situation, backoffMs(situation.rules.settings, 1)),
  },
  {
    // A submission must not be considered ended before it has started.
    name: 'submission begins later than recorded',
    serves: [21],
    step: ({ g: { attempt }, state, time, rules: { longestSubmitMs } }) =>
      attempt !== undefined &&
      (time.now >= attempt.startedAt + longestSubmitMs ||
        time.monotonic >= (state.submittedAt ?? time.monotonic) + longestSubmitMs)
        ? { do: 'allow-submit', token: attempt.token, afterMs: 0, isNotTaken: true }
        : undefined,
  },
  {
    name: 'attempt is submitted',
    serves: [12, 21],
    step: ({ g: { attempt } }) => (attempt === undefined ? undefined : { do: 'submit', attempt }),
  },
];

/** Rows that apply after the provider was asked for a task by its token. */
const AFTER_RECOVER: readonly Row<NewsOf<'recover'>>[] = [
  {
    name: 'question about the task failed',
    serves: [21],
    step: (situation, { answer }) =>
      isSilence(answer) ? restWhileSilent(situation, answer, situation.state.unknownRounds) : undefined,
  },
  {
    // Only the deadline, or the grace after a cancel, ends the waiting.
    name: 'provider does not know yet',
    serves: [21],
    step: (situation, { answer }) => {
      if (typeof answer !== 'object' || isSilence(answer) || answer.found !== 'not-yet') return undefined;
      const { settings } = situation.rules;
      const leastMs = backoffMs(settings, answer.retryAfterMs === undefined ? situation.state.notYetAnswers : 1);
      return rest(situation, boundedWaitMs(answer.retryAfterMs, leastMs, settings.retryAfterCapMs));
    },
  },
  {
    name: 'provider has the task',
    serves: [5, 21],
    step: (_, { answer }) =>
      typeof answer === 'object' && 'found' in answer && answer.found === true
        ? { do: 'accept', reference: answer.reference }
        : undefined,
  },
  {
    name: 'cancel instead of another submission',
    serves: [10],
    step: ({ g }) => (g.cancelRequestedAt !== undefined ? STOP : undefined),
  },
  {
    name: 'provider cannot tell, and the model fails',
    serves: [21],
    step: ({ rules }, { answer }) =>
      answer === 'unsupported' && !rules.mayResubmit
        ? { do: 'end-attempt', failure: failure('PROVIDER_UNAVAILABLE', false, UNKNOWN_OUTCOME) }
        : undefined,
  },
  {
    name: 'provider cannot tell, and the model resubmits',
    serves: [21],
    step: (situation, { token, answer }) =>
      answer === 'unsupported' ? submitAgain(situation, token, false) : undefined,
  },
  {
    name: 'task was stated twice not to exist',
    serves: [21],
    step: (situation, { token }) => {
      const { g, state, time, rules } = situation;
      return notTakenAt(g, state, time, rules) <= time.monotonic ? submitAgain(situation, token, true) : undefined;
    },
  },
  {
    name: 'task was stated once not to exist, and the model resubmits',
    serves: [21],
    step: (situation, { token }) =>
      situation.rules.mayResubmit && hasSubmissionLeft(situation.g) ? submitAgain(situation, token, false) : undefined,
  },
  {
    name: 'statement that the task does not exist is not believed yet',
    serves: [21],
    step: (situation) => {
      const { g, state, time, rules } = situation;
      return rest(situation, notTakenAt(g, state, time, rules) - time.monotonic);
    },
  },
];

/** After a poll of an accepted task. */
const AFTER_POLL: readonly Row<NewsOf<'poll'>>[] = [
  {
    name: 'task failed at the provider',
    serves: [5, 21],
    step: (_, { report }) => (report.state === 'failed' ? { do: 'end-attempt', failure: report.failure } : undefined),
  },
  {
    name: 'task ended at the provider',
    serves: [3, 9],
    step: (_, { reference, report }) =>
      report.state === 'succeeded' || report.state === 'cancelled' ? { do: 'collect', reference, report } : undefined,
  },
  {
    name: 'last poll found no result',
    serves: [6, 20],
    step: ({ g, state }) => (g.lastPollBy === undefined ? undefined : timeOut(g, state)),
  },
  {
    name: 'poll without a report',
    serves: [20, 21],
    step: (situation, { report }) =>
      isSilence(report) ? restWhileSilent(situation, report, situation.state.silentPolls) : undefined,
  },
  {
    name: 'task runs at the provider',
    serves: [20],
    step: (situation, { report }) =>
      report.state === 'running'
        ? rest(
            situation,
            report.pollAfterMs !== undefined && report.pollAfterMs > 0
              ? report.pollAfterMs
              : situation.rules.pollIntervalMs,
          )
        : undefined,
  },
  {
    // Some providers forget cancelled tasks.
    name: 'cancelled task is forgotten',
    serves: [20],
    step: ({ g }) =>
      g.cancelRequestedAt !== undefined
        ? { do: 'end-attempt', failure: failure('PROVIDER_UNAVAILABLE', false, FORGOTTEN) }
        : undefined,
  },
  {
    // A provider that has accepted a task and does not list it may be eventually consistent.
    name: 'task is forgotten, stated once',
    serves: [21],
    step: (situation) => {
      const { state, time, rules } = situation;
      const believedAt = forgottenAt(state, time, rules);
      return believedAt > time.monotonic ? rest(situation, believedAt - time.monotonic) : undefined;
    },
  },
  {
    name: 'task is forgotten, stated twice',
    serves: [21],
    step: ({ rules }) => ({
      do: 'end-attempt',
      failure: failure('PROVIDER_UNAVAILABLE', rules.mayResubmit, FORGOTTEN),
    }),
  },
];

/** After the outputs of a finished task, or of an answer to a submission, arrived completely. */
const AFTER_COLLECT: readonly Row<NewsOf<'collect'>>[] = [
  {
    name: 'outputs are delivered after a cancel',
    serves: [3],
    step: ({ g }, { report, outputs }) =>
      report.state === 'cancelled' && g.cancelRequestedAt !== undefined
        ? { do: 'finish', command: { event: 'stop', outputs } }
        : undefined,
  },
  {
    name: 'outputs are delivered',
    serves: [3, 9],
    step: (_, { outputs }) =>
      outputs.length > 0 ? { do: 'finish', command: { event: 'succeed', outputs } } : undefined,
  },
  {
    name: 'provider stopped by itself',
    serves: [21],
    step: (_, { report }) =>
      report.state === 'cancelled'
        ? { do: 'end-attempt', failure: failure('PROVIDER_REJECTED', true, STOPPED_BY_ITSELF) }
        : undefined,
  },
  {
    name: 'no output is usable',
    serves: [9, 21],
    step: ({ rules }) => ({ do: 'end-attempt', failure: failure('OUTPUT_INVALID', rules.mayReplaceOutputs) }),
  },
];

/**
 * After outputs could not be fetched or stored. The task is paid for and its result is there: only the deadline ends the
 * waiting.
 */
const AFTER_FAILED_COLLECT: readonly Row<NewsOf<'failed-collect'>>[] = [
  {
    name: 'outputs are fetched again later',
    serves: [20, 21],
    step: (situation, { retryAfterMs }) => {
      const { failedCollections, isStoreAway } = situation.state;
      return isStoreAway
        ? rest(situation, backoffMs(situation.rules.settings, failedCollections))
        : restWhileSilent(situation, { retryAfterMs }, failedCollections);
    },
  },
];

/** After a failed attempt, by the newest version. */
const AFTER_ATTEMPT: readonly Row<NewsOf<'ended-attempt'>>[] = [
  {
    name: 'cancelled attempt failed',
    serves: [10],
    step: ({ g }) =>
      g.cancelRequestedAt !== undefined
        ? { do: 'finish', command: { event: 'stop', outputs: [], hasFailed: true } }
        : undefined,
  },
  {
    name: 'provider is full',
    serves: [20, 21],
    step: (situation, { failure: { retryAfterMs }, because }) =>
      because === 'capacity' ? untilThereIsCapacity(situation, retryAfterMs) : undefined,
  },
  {
    name: 'reference file could not be read',
    serves: [20],
    step: (situation, { because }) =>
      because === 'unread' ? undoneFor(situation, untilTriedAgainMs(situation)) : undefined,
  },
  {
    name: 'task goes to the next provider',
    serves: [21],
    step: ({ time, rules }, { because }) =>
      because === 'not-here' && rules.hasOtherProvider ? { do: 'undo', retryAt: time.now, isNotHere: true } : undefined,
  },
  {
    name: 'another attempt',
    serves: [21],
    step: (situation, { failure: { mayRetry, retryAfterMs }, because, isRefused = false }) =>
      mayRetry && because === undefined ? retryOf(situation, retryAfterMs, isRefused) : undefined,
  },
  {
    name: 'generation fails',
    serves: [9],
    step: (_, { failure: { code, message } }) => ({
      do: 'finish',
      command: { event: 'fail', error: taskError(code, message) },
    }),
  },
];

/** Every row, in the order of the tables. */
export const RUN_ROWS: readonly { readonly name: string; readonly serves: readonly number[] }[] = [
  ...WITHOUT_NEWS,
  ...AFTER_RECOVER,
  ...AFTER_POLL,
  ...AFTER_COLLECT,
  ...AFTER_FAILED_COLLECT,
  ...AFTER_ATTEMPT,
].map(({ name, serves }) => ({ name, serves }));

const STOP: RunStep = { do: 'finish', command: { event: 'stop', outputs: [] } };
const UNKNOWN_OUTCOME = 'It is not known whether the provider took the task.';
const FORGOTTEN = 'The provider no longer knows the task.';
const STOPPED_BY_ITSELF = 'The provider stopped the task.';
const NOT_FETCHED = 'The result of the provider could not be fetched before the deadline.';

function isLate({ runDeadlineAt = Infinity }: Generation, { now }: RunTime): boolean {
  return now > runDeadlineAt;
}

function isSilence(answer: object | string): answer is Silence {
  return typeof answer === 'object' && 'state' in answer && answer.state === 'silent';
}

function holdsLease({ lease }: Generation, { now, monotonic, leaseHeldUntil }: RunTime): boolean {
  return (lease?.expiresAt ?? 0) > now && leaseHeldUntil > monotonic;
}

function timeOut({ attempt }: Generation, { isStoreAway, failedCollections }: RunState): RunStep {
  const error = isStoreAway
    ? taskError('OUTPUT_STORE_FAILED')
    : taskError('TASK_TIMEOUT', failedCollections > 0 ? NOT_FETCHED : undefined);
  const command: Ending = { event: 'fail', error };
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

/** Another submission, or the end of an attempt that has had as many as may be taken: the last one may have been, too. */
function submitAgain({ g, state, time, rules }: Situation, token: string, isNotTaken: boolean): RunStep {
  if (state.submissions >= MAX_SUBMISSIONS || !(isNotTaken || hasSubmissionLeft(g)))
    return { do: 'end-attempt', failure: failure('PROVIDER_UNAVAILABLE', rules.mayResubmit, UNKNOWN_OUTCOME) };
  const sent = Math.max(state.submissions, isNotTaken ? 0 : submissionsMadeOf(g));
  const afterMs = sent > 1 ? backoffMs(rules.settings, sent - 1) : 0;
  return {
    do: 'allow-submit',
    token,
    afterMs: Math.min(afterMs, timeLeftMs({ g, state, time, rules })),
    isNotTaken,
  };
}

/**
 * A full provider is tried again after as long as the run has lasted, or after the time it requests, within the bounds
 * of a retry. A generation with another provider looks for one that has capacity immediately.
 */
function untilThereIsCapacity(situation: Situation, retryAfterMs: number | undefined): RunStep | undefined {
  const { hasOtherProvider, settings } = situation.rules;
  const waitMs = boundedWaitMs(retryAfterMs, untilTriedAgainMs(situation), settings.retryAfterCapMs);
  return undoneFor(situation, hasOtherProvider ? 0 : waitMs);
}

/** The delay before the next try: as long as the run has lasted, within the bounds of a retry. */
function untilTriedAgainMs({ g, time, rules }: Situation): number {
  const { retryBaseMs, retryCapMs } = rules.settings;
  const lastedMs = time.now - ((g.runDeadlineAt ?? Infinity) - g.terms.runTimeoutMs);
  return Math.max(retryBaseMs, Math.min(retryCapMs, Number.isFinite(lastedMs) ? lastedMs : 0));
}

function undoneFor({ g, time }: Situation, waitMs: number): RunStep | undefined {
  const retryAt = time.now + waitMs;
  return retryAt < (g.runDeadlineAt ?? Infinity) ? { do: 'undo', retryAt, isNotHere: false } : undefined;
}

/** The next attempt, if there may be one more and it can start in time. */
function retryOf(
  { g, time, rules: { settings } }: Situation,
  retryAfterMs: number | undefined,
  isRefused: boolean,
): RunStep | undefined {
  const retryAt = time.now + boundedWaitMs(retryAfterMs, backoffMs(settings, g.attemptsMade), settings.retryAfterCapMs);
  return hasAttemptLeft(isRefused ? withoutLastSubmission(g) : g) && retryAt < (g.runDeadlineAt ?? Infinity)
    ? { do: 'retry', retryAt, isRefused }
    : undefined;
}

/**
 * Pauses before the same call is repeated: longer each time, or as the provider requests, at most the cap of a retry.
 */
function restWhileSilent(
  situation: Situation,
  { retryAfterMs }: { readonly retryAfterMs?: number | undefined },
  tries: number,
): RunStep {
  const { settings } = situation.rules;
  return rest(situation, boundedWaitMs(retryAfterMs, backoffMs(settings, tries), settings.retryCapMs));
}

/** Pauses, but not past the time at which this generation ends whatever the provider answers. */
function rest(situation: Situation, ms: number): RunStep {
  return { do: 'rest', ms: Math.min(ms, timeLeftMs(situation)) };
}

/** Until the end of the run, or of the provider's grace after a cancel, has just passed. */
export function timeLeftMs(situation: Situation): number {
  const { now, monotonic } = situation.time;
  return Math.max(0, Math.min(runEndsAt(situation.g) - now, graceEndsAt(situation) - monotonic)) + 1;
}

/**
 * Until when to wait for a provider that was asked to stop, or that cannot report whether it has the task; monotonic.
 */
function graceEndsAt({ g: { attempt }, state: { cancelSeenAt = Infinity }, rules }: Situation): number {
  return attempt?.delivered === undefined ? cancelSeenAt + rules.settings.cancelGraceMs : Infinity;
}
