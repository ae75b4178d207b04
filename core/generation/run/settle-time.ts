import { isLeftByAnother, type Boot } from '../../boot.js';
import type { Settings } from '../../settings.js';
import type { Generation } from '../generation.js';
import type { NotFound, RunState, RunTime } from './run-state.js';

/**
 * The least time between two statements that an accepted task does not exist, in milliseconds: a provider within this
 * process has no settle time, and may still be starting when it is first asked.
 */
const LEAST_FORGOTTEN_MS = 3_000;

/** What the time depends on after which a provider is believed that it does not have a task. */
export interface SettleRules {
  /** Of the provider's promises. */
  readonly settleMs: number;
  /** The longest that a submission may take from its recorded start. */
  readonly longestSubmitMs: number;
  readonly boot: Boot;
  readonly settings: Pick<Settings, 'leaseMs'>;
}

/**
 * When the provider is believed that it has not taken the attempt, by the monotonic clock: now, or when it has to be asked
 * again. A request of ours that was still on its way may arrive until the settle time after its call is over. From then on
 * the provider has to state it twice, a settle time apart.
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
 * When the provider is believed that it has lost a task that it accepted. The submission has ended by then, so its first
 * statement counts.
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
 * When the last submission of the attempt was over at the latest, by the monotonic clock. What was recorded before this run
 * began ended before it. A call whose end is not on record ends with the longest call, counted from its record or from the
 * start of this run, and with the lease of its worker, which that worker cannot have renewed since this run began.
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
