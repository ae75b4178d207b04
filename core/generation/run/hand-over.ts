import type { Context } from '../../context.js';
import type { ProviderCost, SubmitAnswer } from '../../ports/provider.js';
import type { Attempt, DeliveredObject, Generation } from '../generation.js';
import { storeSubmitted } from './collect-outputs.js';
import type { ProviderCalls } from './provider-calls.js';
import { submissionOf } from './submission.js';
import type { Execution } from './unknown-model.js';

/** What came of a submission. */
export type Submitted =
  | Exclude<SubmitAnswer, { readonly outputs: unknown }>
  | { readonly accepted: true; readonly delivered: readonly DeliveredObject[]; readonly cost?: ProviderCost };

export interface HandOver {
  readonly attempt: Attempt;
  /** Until the generation ends in any case. */
  readonly timeLeftMs: number;
  /** The longest that a submission may take from its recorded start. */
  readonly longestSubmitMs: number;
}

/**
 * Submits an attempt, and stores what the provider answers with. Throws when it is unknown whether the provider has taken
 * it.
 */
export async function handOver(
  context: Context,
  calls: Pick<ProviderCalls, 'submit'>,
  { settings }: Pick<Execution, 'settings'>,
  g: Generation,
  { attempt, timeLeftMs, longestSubmitMs }: HandOver,
): Promise<Submitted> {
  const { clock } = context;
  const endsAt = Math.min(clock.now() + timeLeftMs, attempt.startedAt + longestSubmitMs);
  const limitMs = Math.min(longestSubmitMs, endsAt - clock.now());
  // One that was taken may be worked on in this process, which reads its references later.
  let outcome: 'open' | 'taken' | 'over' = 'open';
  const isOver = () => outcome === 'over' || (outcome === 'open' && clock.now() >= endsAt);
  const submission = submissionOf(context, g, { attempt, settings, timeLeftMs, isOver });
  try {
    const submitted = await calls.submit(submission, limitMs, async (answer) => {
      if (!('outputs' in answer)) return answer;
      const { outputs, ...rest } = answer;
      return { ...rest, delivered: await storeSubmitted(context, g, outputs) };
    });
    outcome = submitted.accepted ? 'taken' : 'over';
    return submitted;
  } catch (error) {
    outcome = 'over';
    throw error;
  }
}
