import type { Context } from '../../context.js';
import type { ProviderCost, RefusedBecause, SubmitAnswer } from '../../ports/provider.js';
import type { Attempt, DeliveredObject, Generation } from '../generation.js';
import { storeSubmitted, type StoringBy } from './collect-outputs.js';
import type { ProviderCalls } from './provider-calls.js';
import { submissionOf } from './submission.js';
import type { Execution } from './unknown-model.js';

/** Why an attempt that was certainly not taken does not count. `unread`: our object store did not give a reference. */
export type UndoneBecause = RefusedBecause | 'unread';

type Refusal = Omit<Extract<SubmitAnswer, { readonly accepted: false }>, 'because'>;

/** What came of a submission. */
export type Submitted =
  | Extract<SubmitAnswer, { readonly reference: string }>
  | (Refusal & { readonly because?: UndoneBecause })
  | { readonly accepted: true; readonly delivered: readonly DeliveredObject[]; readonly cost?: ProviderCost };

export interface HandOver {
  readonly attempt: Attempt;
  /** Until the generation ends in any case. */
  readonly timeLeftMs: number;
  /** When the submission has to be over, by the wall clock and by the monotonic one; later than now. */
  readonly endsAt: { readonly wall: number; readonly monotonic: number };
  /** Takes another fence for outputs that could not be stored under the generation's. */
  readonly otherKeys: StoringBy['otherKeys'];
}

/**
 * Submits an attempt, and stores what the provider answers with. Throws when it is unknown whether the provider has taken
 * it.
 */
export async function handOver(
  context: Context,
  calls: Pick<ProviderCalls, 'submit'>,
  {
    settings,
    model,
  }: Pick<Execution, 'settings'> & { readonly model: Pick<Execution['model'], 'inputSchema' | 'mark' | 'displayName'> },
  g: Generation,
  { attempt, timeLeftMs, endsAt, otherKeys }: HandOver,
): Promise<Submitted> {
  const { clock } = context;
  // One that was taken may be worked on in this process, which reads its references later.
  let outcome: 'open' | 'taken' | 'over' = 'open';
  const leftMs = () => Math.min(endsAt.wall - clock.now(), endsAt.monotonic - clock.monotonic());
  const isOver = () => outcome === 'over' || (outcome === 'open' && leftMs() <= 0);
  let isUnread = false;
  const onUnread = () => (isUnread = true);
  const submission = submissionOf(context, g, {
    attempt,
    settings,
    inputSchema: model.inputSchema,
    timeLeftMs,
    isOver,
    onUnread,
  });
  try {
    const submitted = await calls.submit(submission, leftMs(), async (answer, { signal }) => {
      if (!('outputs' in answer)) return answer;
      const { outputs, close, ...rest } = answer;
      try {
        return { ...rest, delivered: await storeSubmitted(context, model, g, outputs, { signal, otherKeys }) };
      } finally {
        close?.();
      }
    });
    outcome = submitted.accepted ? 'taken' : 'over';
    if (submitted.accepted || !isUnread || !submitted.failure.mayRetry) return submitted;
    return { because: 'unread', ...submitted };
  } catch (error) {
    outcome = 'over';
    throw error;
  }
}
