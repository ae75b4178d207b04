import { type Boot, isLeftByAnother } from '../../boot.js';
import type { Model } from '../../catalog/model.js';
import type {
  ProviderFailure,
  ProviderReport,
  RecoverAnswer,
  RefusedBecause,
} from '../../providers/provider-report.js';
import type { Settings } from '../../settings.js';
import { type Generation, type Output, type ProviderCost, taskError, type TaskErrorCode } from '../generation.js';

/** Why an attempt that was certainly not taken does not count. `unread`: our object store did not give a reference. */
export type UndoneBecause = RefusedBecause | 'unread';

export type FinishedReport = Extract<ProviderReport, { state: 'succeeded' | 'cancelled' }>;

/**
 * The time of one step. Deadlines and leases are compared with the wall clock, as other processes read them too; delays
 * and limits of calls with the monotonic clock, which cannot be set.
 */
export interface RunTime {
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: number;
  readonly monotonic: number;
  /** Until when this process holds the lease by its monotonic clock. */
  readonly leaseHeldUntil: number;
}

/** A call that failed, or a response without a statement about the task. */
export interface Silence {
  readonly state: 'silent';
  /** The wait that the provider requests, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** The last result from the provider or our own store, until it is acted on. */
export type News =
  | {
      readonly of: 'recover';
      readonly token: string;
      readonly answer: RecoverAnswer | Silence;
      /** When the request was sent, and when the answer arrived, by the monotonic clock. */
      readonly askedAt: number;
      readonly at: number;
    }
  | {
      readonly of: 'poll';
      readonly reference: string;
      readonly report: ProviderReport | Silence;
      readonly askedAt: number;
      readonly at: number;
      /** Whether it is the poll after the deadline. */
      readonly isLast: boolean;
    }
  | {
      readonly of: 'collect';
      readonly report: Pick<FinishedReport, 'state'>;
      readonly outputs: readonly Output[];
    }
  | { readonly of: 'failed-collect'; readonly isStoreAway: boolean; readonly retryAfterMs?: number }
  | ({ readonly of: 'ended-attempt' } & FailedAttempt);

/** When a provider was asked for a task and stated that it does not have it, by the monotonic clock. */
export interface NotFound {
  readonly askedAt: number;
  readonly at: number;
}

/** The state of one run that is not in the generation's record. Counts cover this run only, and times are monotonic. */
export interface RunState {
  /** When the run started. */
  readonly begunAt: number;
  readonly isStopping: boolean;
  /** Token of the attempt that we may submit without asking the provider first. */
  readonly unsentToken: string | undefined;
  /** Token of an attempt that we have started and not yet submitted. */
  readonly neverSentToken: string | undefined;
  /** The recorded start of the attempt's submission; undefined while another run has recorded it. */
  readonly submittedAt: number | undefined;
  /** When the call of this run's last submission ended without a known outcome. */
  readonly submissionEndedAt: number | undefined;
  /** Statements, since the last submission, that the provider does not have the task. */
  readonly notFound: readonly NotFound[];
  /** Polls without a usable report since the last one. */
  readonly silentPolls: number;
  /**
   * How often, since the last submission, the provider was asked whether it has the task and reported neither that it
   * has it, nor that it does not know yet.
   */
  readonly unknownRounds: number;
  /** How often this run has submitted the attempt. */
  readonly submissions: number;
  readonly notYetAnswers: number;
  readonly failedCollections: number;
  /** Statements, since the last other report, that the provider does not have a task that it accepted. */
  readonly forgotten: readonly NotFound[];
  readonly isStoreAway: boolean;
  /** When this process saw that a cancel was requested. */
  readonly cancelSeenAt: number | undefined;
  /** Whether the poll after the deadline was made. */
  readonly hasPolledLast: boolean;
  /** The last report of a finished task, with outputs to collect. */
  readonly finished: { readonly reference: string; readonly report: FinishedReport } | undefined;
  /** The attempt's cost, as last reported by the provider. */
  readonly cost: ProviderCost | undefined;
  readonly news: News | undefined;
}

/** Why an attempt failed. `isRefused`: its last submission was certainly refused. */
export interface FailedAttempt {
  readonly failure: ProviderFailure;
  readonly because?: UndoneBecause | undefined;
  readonly isRefused?: boolean | undefined;
}

/** The initial state of a run. `freshToken` is the token of an attempt that this worker started with the lease. */
export function newRunState(freshToken: string | undefined, monotonic: number): RunState {
  return {
    begunAt: monotonic,
    isStopping: false,
    unsentToken: freshToken,
    neverSentToken: freshToken,
    submittedAt: freshToken === undefined ? undefined : monotonic,
    submissionEndedAt: undefined,
    notFound: [],
    silentPolls: 0,
    unknownRounds: 0,
    submissions: 0,
    notYetAnswers: 0,
    failedCollections: 0,
    forgotten: [],
    isStoreAway: false,
    cancelSeenAt: undefined,
    hasPolledLast: false,
    finished: undefined,
    cost: undefined,
    news: undefined,
  };
}

/** The state once the newest version of the generation was read. */
export function withGeneration(state: RunState, g: Generation, monotonic: number): RunState {
  return g.cancelRequestedAt === undefined || state.cancelSeenAt !== undefined
    ? state
    : { ...state, cancelSeenAt: monotonic };
}

/** The state once it is on record that the attempt may be submitted from now on, for the first time or again. */
export function withUnsent(state: RunState, token: string, monotonic: number): RunState {
  return { ...state, unsentToken: token, submittedAt: monotonic };
}

/** The state once a submission has started. */
export function withSubmission(state: RunState): RunState {
  return {
    ...state,
    submissions: state.submissions + 1,
    unsentToken: undefined,
    neverSentToken: undefined,
    submissionEndedAt: undefined,
    notFound: [],
    unknownRounds: 0,
  };
}

/** The state once something was answered. */
export function withNews(state: RunState, news: News): RunState {
  switch (news.of) {
    case 'recover':
      return { ...state, news, ...afterRecover(state, news) };
    case 'poll':
      return { ...state, news, ...afterReport(state, news) };
    case 'failed-collect':
      return { ...state, news, isStoreAway: news.isStoreAway, failedCollections: state.failedCollections + 1 };
    case 'collect':
    case 'ended-attempt':
      return { ...state, news };
  }
}

function afterRecover(
  { notYetAnswers, unknownRounds, notFound }: RunState,
  { answer, askedAt, at }: Extract<News, { of: 'recover' }>,
): Partial<RunState> {
  const found = typeof answer === 'object' && 'found' in answer ? answer.found : undefined;
  if (found === 'not-yet') return { notYetAnswers: notYetAnswers + 1 };
  return {
    unknownRounds: unknownRounds + 1,
    ...(found === false ? { notFound: [...notFound, { askedAt, at }] } : {}),
  };
}

/** How many statements are kept: the first one, and the newest ones. */
const MAX_STATEMENTS = 8;

function afterReport(
  { silentPolls, forgotten }: RunState,
  { reference, report, askedAt, at, isLast }: Extract<News, { of: 'poll' }>,
): Partial<RunState> {
  const polled = isLast ? { hasPolledLast: true } : {};
  if (report.state === 'silent') return { ...polled, silentPolls: silentPolls + 1 };
  const [first, ...later] = [...forgotten, { askedAt, at }];
  return {
    ...polled,
    silentPolls: 0,
    forgotten: report.state === 'unknown' && first !== undefined ? [first, ...later.slice(-MAX_STATEMENTS)] : [],
    finished: report.state === 'succeeded' || report.state === 'cancelled' ? { reference, report } : undefined,
    ...('cost' in report && report.cost !== undefined ? { cost: report.cost } : {}),
  };
}

/**
 * The least time between two statements that an accepted task does not exist, in milliseconds: a provider within this
 * process has no settle time, and may still be starting when it is first asked.
 */
const LEAST_FORGOTTEN_MS = 3_000;

/** Inputs for the time after which a provider's statement that it does not have a task is trusted. */
export interface SettleRules {
  /** The settle time that the provider declares, in milliseconds. */
  readonly settleMs: number;
  /** The longest that a submission may take from its recorded start. */
  readonly longestSubmitMs: number;
  readonly boot: Boot;
  readonly settings: Pick<Settings, 'leaseMs'>;
}

/**
 * When the provider's statement that it has not taken the attempt is trusted, by the monotonic clock: now, or when the
 * provider has to be polled again. A request of ours that was still in transit may arrive until the settle time after
 * its call is over. From then on the provider has to state it twice, a settle time apart.
 */
export function notTakenAt(g: Generation, state: SubmissionTimes, time: RunTime, rules: SettleRules): number {
  const settledAt = submissionOverAt(g, state, time, rules) + rules.settleMs;
  return statedTwiceAt(
    state.notFound.filter(({ askedAt }) => askedAt >= settledAt),
    settledAt,
    time,
    rules,
  );
}

/**
 * When the provider's statement that it has lost an accepted task is trusted. The submission has ended by then, so its
 * first statement counts.
 */
export function forgottenAt(
  { forgotten }: Pick<RunState, 'forgotten'>,
  time: RunTime,
  rules: Pick<SettleRules, 'settleMs'>,
): number {
  const settleMs = Math.max(rules.settleMs, LEAST_FORGOTTEN_MS);
  return statedTwiceAt(forgotten, time.monotonic, time, { settleMs });
}

type SubmissionTimes = Pick<RunState, 'notFound' | 'begunAt' | 'submittedAt' | 'submissionEndedAt'>;

function statedTwiceAt(
  [first, ...later]: readonly NotFound[],
  firstAt: number,
  { monotonic }: RunTime,
  { settleMs }: Pick<SettleRules, 'settleMs'>,
): number {
  if (first === undefined) return Math.max(firstAt, monotonic + 1);
  const againAt = first.at + settleMs;
  return later.some(({ askedAt }) => askedAt >= againAt) ? monotonic : Math.max(againAt, monotonic + 1);
}

/**
 * The latest time at which the last submission of the attempt was over, by the monotonic clock. An end recorded before
 * this run started precedes it. A call whose end is not recorded ends with the longest call, counted from its record or
 * from the start of this run, and with the lease of its worker, which that worker cannot have renewed since this run
 * started.
 */
function submissionOverAt(
  { attempt }: Generation,
  { begunAt, submittedAt, submissionEndedAt }: SubmissionTimes,
  { now, monotonic }: RunTime,
  { boot, longestSubmitMs, settings }: SettleRules,
): number {
  if (submissionEndedAt !== undefined) return submissionEndedAt;
  if (submittedAt !== undefined) return submittedAt + longestSubmitMs;
  if (attempt === undefined || attempt.endedAt !== undefined || isLeftByAnother(boot, attempt.bootId)) return begunAt;
  const byRecord = monotonic + (attempt.startedAt + longestSubmitMs - now);
  return Math.max(Math.min(byRecord, begunAt + longestSubmitMs), begunAt + settings.leaseMs);
}

/**
 * Whether the model prefers a task run twice to one not run at all, if it is unknown whether its provider has the task.
 */
export function mayResubmit(model: Model): boolean {
  return model.onUnknownAcceptance === 'resubmit';
}

/** A failure that we state ourselves, with the message of its code where no other one is given. */
export function failure(code: TaskErrorCode, mayRetry: boolean, message?: string): ProviderFailure {
  return { code, message: taskError(code, message).message, mayRetry };
}
