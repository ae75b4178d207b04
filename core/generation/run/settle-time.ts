import { isLeftByAnother, type Boot } from '../../boot.js';
import type { Settings } from '../../settings.js';
import type { Generation } from '../generation.js';
import type { RunState } from './run-state.js';

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
 * When the provider is believed that it has not taken the attempt: now, or when it has to be asked again. A request of
 * ours that was still on its way may arrive until the settle time after its call is over. From then on the provider has
 * to say it twice, a settle time apart.
 */
export function notTakenAt(
  g: Generation,
  { notFound, begunAt }: Pick<RunState, 'notFound' | 'begunAt'>,
  now: number,
  rules: SettleRules,
): number {
  const settledAt = submissionOverAt(g, begunAt, rules) + rules.settleMs;
  const [first, ...later] = notFound.filter(({ askedAt }) => askedAt >= settledAt);
  if (first === undefined) return Math.max(settledAt, now + 1);
  const againAt = first.at + rules.settleMs;
  return later.some(({ askedAt }) => askedAt >= againAt) ? now : Math.max(againAt, now + 1);
}

/**
 * When the last submission of the attempt was over at the latest, by this process's clock. What another process has
 * recorded was before this run began. A call whose end is not on record ends with the longest call, and with the lease of
 * its worker, which that worker cannot have renewed since this run began.
 */
function submissionOverAt({ attempt }: Generation, begunAt: number, rules: SettleRules): number {
  if (attempt === undefined) return begunAt;
  const { endedAt, startedAt, bootId } = attempt;
  if (endedAt !== undefined) return bootId === rules.boot.id ? endedAt : begunAt;
  if (isLeftByAnother(rules.boot, bootId)) return begunAt;
  return Math.max(startedAt + rules.longestSubmitMs, begunAt + rules.settings.leaseMs);
}
