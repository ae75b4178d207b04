import type { ProviderCost, ProviderFailure, ProviderReport, RecoverAnswer } from '../../ports/provider.js';
import type { Generation, Output } from '../generation.js';
import type { UndoneBecause } from './hand-over.js';

export type FinishedReport = Extract<ProviderReport, { state: 'succeeded' | 'cancelled' }>;

/** What the provider or our own store last answered, until it was acted on. */
export type News =
  | {
      readonly of: 'recover';
      readonly token: string;
      readonly answer: RecoverAnswer | 'silent';
      /** When it was asked, and when the answer was there. */
      readonly askedAt: number;
      readonly at: number;
    }
  | { readonly of: 'poll'; readonly reference: string; readonly report: ProviderReport | { readonly state: 'silent' } }
  | {
      readonly of: 'collect';
      readonly report: Pick<FinishedReport, 'state'>;
      readonly outputs: readonly Output[];
    }
  | { readonly of: 'failed-collect'; readonly isStoreAway: boolean }
  | { readonly of: 'ended-attempt'; readonly failure: ProviderFailure; readonly because?: UndoneBecause | undefined };

/** When a provider was asked for a task that it said it does not have. */
export interface NotFound {
  readonly askedAt: number;
  readonly at: number;
}

/** What one run knows that the generation's record does not say. Counts are of this run alone. */
export interface RunState {
  /** When the run began. */
  readonly begunAt: number;
  readonly isStopping: boolean;
  /** Token of the attempt that we may submit without asking the provider first. */
  readonly unsentToken: string | undefined;
  /** Token of an attempt that we have begun and not yet submitted. */
  readonly neverSentToken: string | undefined;
  /** Answers, since the last submission, that the provider does not have the task. */
  readonly notFound: readonly NotFound[];
  /** Polls without an answer since the last answer. */
  readonly silentPolls: number;
  /**
   * How often, since the last submission, the provider was asked whether it has the task and did not say that it has, nor
   * that it does not know yet.
   */
  readonly unknownRounds: number;
  /** How often this run has submitted the attempt. */
  readonly submissions: number;
  readonly notYetAnswers: number;
  readonly failedCollections: number;
  /** Reports that a task the provider has taken is not known to it. */
  readonly unknownReports: number;
  readonly isStoreAway: boolean;
  /** When this process saw that a cancel was requested, by its own clock: the requester's may differ. */
  readonly cancelSeenAt: number | undefined;
  /** What the provider last said that the attempt costs. */
  readonly cost: ProviderCost | undefined;
  readonly news: News | undefined;
}

/** Why an attempt failed. `stopping` is a reference that the provider is first asked to stop. */
export interface FailedAttempt {
  readonly failure: ProviderFailure;
  readonly because?: UndoneBecause;
  readonly stopping?: string;
}

/** A run as it begins. `freshToken` is that of an attempt that this worker began with the lease. */
export function newRunState(freshToken: string | undefined, now: number): RunState {
  return {
    begunAt: now,
    isStopping: false,
    unsentToken: freshToken,
    neverSentToken: freshToken,
    notFound: [],
    silentPolls: 0,
    unknownRounds: 0,
    submissions: 0,
    notYetAnswers: 0,
    failedCollections: 0,
    unknownReports: 0,
    isStoreAway: false,
    cancelSeenAt: undefined,
    cost: undefined,
    news: undefined,
  };
}

/** The state once the newest version of the generation was read. */
export function withGeneration(state: RunState, g: Generation, now: number): RunState {
  return g.cancelRequestedAt === undefined || state.cancelSeenAt !== undefined
    ? state
    : { ...state, cancelSeenAt: now };
}

/** The state once a submission has begun. */
export function withSubmission(state: RunState): RunState {
  const { submissions } = state;
  const asked = { notFound: [], unknownRounds: 0 };
  return { ...state, ...asked, submissions: submissions + 1, unsentToken: undefined, neverSentToken: undefined };
}

/** The state once something was answered. */
export function withNews(state: RunState, news: News): RunState {
  switch (news.of) {
    case 'recover':
      return { ...state, news, ...afterRecover(state, news) };
    case 'poll':
      return { ...state, news, ...afterReport(state, news.report) };
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
  if (typeof answer === 'object' && answer.found === 'not-yet') return { notYetAnswers: notYetAnswers + 1 };
  const isNotFound = typeof answer === 'object' && !answer.found;
  return {
    unknownRounds: unknownRounds + 1,
    ...(isNotFound ? { notFound: [...notFound, { askedAt, at }] } : {}),
  };
}

function afterReport(
  { silentPolls, unknownReports }: RunState,
  report: ProviderReport | { readonly state: 'silent' },
): Partial<RunState> {
  if (report.state === 'silent') return { silentPolls: silentPolls + 1, unknownReports };
  return {
    silentPolls: 0,
    unknownReports: report.state === 'unknown' ? unknownReports + 1 : unknownReports,
    ...('cost' in report && report.cost !== undefined ? { cost: report.cost } : {}),
  };
}
