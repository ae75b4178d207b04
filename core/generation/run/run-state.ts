import type { ProviderFailure, ProviderReport, RecoverAnswer } from '../../ports/provider.js';
import type { Generation, Output } from '../generation.js';

export type FinishedReport = Extract<ProviderReport, { state: 'succeeded' | 'cancelled' }>;

/** What the provider or our own store last answered, until it was acted on. */
export type News =
  | { readonly of: 'recover'; readonly token: string; readonly answer: RecoverAnswer | 'silent' }
  | { readonly of: 'poll'; readonly reference: string; readonly report: ProviderReport | { readonly state: 'silent' } }
  | { readonly of: 'collect'; readonly report: FinishedReport; readonly outputs: readonly Output[] }
  | { readonly of: 'failed-collect'; readonly isStoreAway: boolean }
  | { readonly of: 'ended-attempt'; readonly failure: ProviderFailure };

/** What one run knows that the generation's record does not say. Counts are of this run alone. */
export interface RunState {
  readonly isStopping: boolean;
  /** Token of the attempt that we may submit without asking the provider first. */
  readonly unsentToken: string | undefined;
  /** Token of an attempt that we have begun and not yet submitted. */
  readonly neverSentToken: string | undefined;
  /** Polls without an answer since the last answer. */
  readonly silentPolls: number;
  /**
   * How often the provider was asked whether it has the task and did not say that it has, nor that it does not know
   * yet.
   */
  readonly unknownRounds: number;
  readonly notYetAnswers: number;
  readonly failedCollections: number;
  /** Reports that a task the provider has taken is not known to it. */
  readonly unknownReports: number;
  /** The fence under which outputs were collected last: its keys are used up. */
  readonly collectedUnder: number | undefined;
  readonly isStoreAway: boolean;
  /** When this process saw that a cancel was requested, by its own clock: the requester's may differ. */
  readonly cancelSeenAt: number | undefined;
  readonly news: News | undefined;
}

/** A run as it begins. `freshToken` is that of an attempt that this worker began with the lease. */
export function newRunState(freshToken: string | undefined): RunState {
  return {
    isStopping: false,
    unsentToken: freshToken,
    neverSentToken: freshToken,
    silentPolls: 0,
    unknownRounds: 0,
    notYetAnswers: 0,
    failedCollections: 0,
    unknownReports: 0,
    collectedUnder: undefined,
    isStoreAway: false,
    cancelSeenAt: undefined,
    news: undefined,
  };
}

/** The state once the newest version of the generation was read. */
export function withGeneration(state: RunState, g: Generation, now: number): RunState {
  return g.cancelRequestedAt === undefined || state.cancelSeenAt !== undefined
    ? state
    : { ...state, cancelSeenAt: now };
}

/** The state once something was answered. */
export function withNews(state: RunState, news: News): RunState {
  switch (news.of) {
    case 'recover':
      return {
        ...state,
        news,
        ...(isNotYet(news.answer)
          ? { notYetAnswers: state.notYetAnswers + 1 }
          : { unknownRounds: state.unknownRounds + 1 }),
      };
    case 'poll':
      return { ...state, news, ...afterReport(state, news.report.state) };
    case 'failed-collect':
      return { ...state, news, isStoreAway: news.isStoreAway, failedCollections: state.failedCollections + 1 };
    case 'collect':
    case 'ended-attempt':
      return { ...state, news };
  }
}

function afterReport(
  { silentPolls, unknownReports }: RunState,
  report: ProviderReport['state'] | 'silent',
): Pick<RunState, 'silentPolls' | 'unknownReports'> {
  if (report === 'silent') return { silentPolls: silentPolls + 1, unknownReports };
  return { silentPolls: 0, unknownReports: report === 'unknown' ? unknownReports + 1 : unknownReports };
}

function isNotYet(answer: RecoverAnswer | 'silent'): boolean {
  return typeof answer === 'object' && answer.found === 'not-yet';
}
