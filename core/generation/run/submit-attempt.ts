import type { PromptRule } from '../../catalog/model.js';
import type { Files, Machine } from '../../context.js';
import { StoreUnavailable } from '../../errors.js';
import type { JsonObject } from '../../json.js';
import type { ProviderCost, Submission, SubmitAnswer } from '../../ports/provider.js';
import type { Entry } from '../../providers/provider-gates.js';
import { type Attempt, type DeliveredObject, type Generation, outputCountOf } from '../generation.js';
import { type RunOutputs, storeSubmitted, type StoringBy } from './collect-outputs.js';
import type { Execution } from './executions.js';
import type { LeaseHolder, RetryBudget } from './lease.js';
import type { RunRules } from './next-step.js';
import { CallGivenUp, type ProviderCalls } from './provider-calls.js';
import type { UndoneBecause } from './run-state.js';

/**
 * Submits an attempt. `not-started`: something changed first, and the next step must be decided again. `no-room`: the
 * provider has no slot or no submission for it now; those that the run started with may have lapsed. `unknown`: the
 * provider may have accepted it.
 */
export async function submitAttempt(
  context: Files & Machine,
  run: SubmittingRun,
  g: Generation,
  { attempt, recordedAt, timeLeftMs, onBegun, onEnded }: OneSubmission,
): Promise<Submitted | 'not-started' | 'no-room' | 'unknown'> {
  const { of, holder, calls, outputs, retryBudget, rules } = run;
  if (rules.answersWithOutputs && outputs.hasUsedKeys(g)) {
    await outputs.renewKeys(g);
    return 'not-started';
  }
  const { clock } = context;
  const [wall, monotonic] = [clock.now(), clock.monotonic()];
  const endsAt = {
    wall: Math.min(wall + timeLeftMs, attempt.startedAt + rules.longestSubmitMs),
    monotonic: Math.min(monotonic + timeLeftMs, recordedAt + rules.longestSubmitMs),
  };
  if (endsAt.wall <= wall || endsAt.monotonic <= monotonic || holder.leaseHeldUntil <= monotonic) return 'not-started';
  if (!of.entry.maySubmit()) return 'no-room';
  if (rules.answersWithOutputs) outputs.useKeys(g);
  onBegun();
  of.entry.submitting();
  try {
    return await handOff(context, calls, of, g, {
      attempt,
      timeLeftMs,
      endsAt,
      otherKeys: () => outputs.otherKeys(),
    });
  } catch (error) {
    context.log.warn('submission of unknown outcome', { generationId: g.generationId, error });
    if (error instanceof CallGivenUp) return 'unknown';
    onEnded();
    await retryBudget.try(() => holder.write({ event: 'submission-ended' }));
    return 'unknown';
  }
}

/** The parts of a run that submit its attempts. */
export interface SubmittingRun {
  readonly of: Execution & { readonly entry: Entry };
  readonly holder: LeaseHolder;
  readonly calls: ProviderCalls;
  readonly outputs: RunOutputs;
  readonly retryBudget: RetryBudget;
  readonly rules: ModelRules;
}

interface OneSubmission {
  readonly attempt: Attempt;
  /** When it was recorded that the attempt is submitted, by the monotonic clock. */
  readonly recordedAt: number;
  readonly timeLeftMs: number;
  /** Called when the attempt is handed to the provider: from then on it may have been accepted. */
  readonly onBegun: () => void;
  /** Called when the call has ended and the outcome is unknown. */
  readonly onEnded: () => void;
}

/** The rules that hold for a whole run, with those for its submissions. */
export interface ModelRules extends RunRules {
  readonly answersWithOutputs: boolean;
}

type Refusal = Omit<Extract<SubmitAnswer, { readonly accepted: false }>, 'because'>;

/** The outcome of a submission. */
export type Submitted =
  | Extract<SubmitAnswer, { readonly reference: string }>
  | (Refusal & { readonly because?: UndoneBecause })
  | { readonly accepted: true; readonly delivered: readonly DeliveredObject[]; readonly cost?: ProviderCost };

export interface Handoff {
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
export async function handOff(
  context: Files & Machine,
  calls: Pick<ProviderCalls, 'submit'>,
  {
    settings,
    model,
  }: Pick<Execution, 'settings'> & {
    readonly model: Pick<Execution['model'], 'inputSchema' | 'promptRule' | 'mark' | 'displayName'>;
  },
  g: Generation,
  { attempt, timeLeftMs, endsAt, otherKeys }: Handoff,
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
    promptRule: model.promptRule,
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

/** The inputs of a submission besides the generation. */
export interface SubmissionOf {
  readonly attempt: Pick<Attempt, 'number' | 'token'>;
  readonly settings: JsonObject;
  readonly inputSchema: JsonObject;
  readonly promptRule: PromptRule;
  readonly timeLeftMs: number;
  /** Whether the submission is over: then no more bytes of a reference are sent. */
  readonly isOver: () => boolean;
  /** Called when our object store does not give a reference. */
  readonly onUnread: () => void;
}

/** The request that is passed to the provider for one attempt. It contains the task, but never its owner. */
export function submissionOf(
  context: Files,
  g: Generation,
  { attempt, settings, inputSchema, promptRule, timeLeftMs, isOver, onUnread }: SubmissionOf,
): Submission {
  return {
    generationId: g.generationId,
    attempt: attempt.number,
    modelKey: g.modelKey,
    operation: g.operation,
    prompt: promptRule === 'none' ? '' : g.prompt,
    ...(g.negativePrompt === undefined ? {} : { negativePrompt: g.negativePrompt }),
    parameters: g.parameters,
    inputSchema,
    references: g.references.map((reference) => {
      const { role, mediaType, objectKey, uploadId, isMasked, contentBytes: byteSize = reference.byteSize } = reference;
      return {
        role,
        mediaType,
        byteSize,
        ...(isMasked === undefined ? {} : { isMasked }),
        open: async () => {
          const bytes = await watched(context.objects.read(objectKey, { from: 0, to: byteSize }), onUnread);
          if (!bytes) throw new Error(`The bytes of upload ${uploadId} are gone.`);
          return whileOpen(isOver, watchedBytes(bytes, onUnread));
        },
      };
    }),
    settings,
    token: attempt.token,
    outputCount: outputCountOf(g),
    timeLeftMs,
  };
}

async function watched<T>(read: Promise<T>, onUnread: () => void): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof StoreUnavailable) onUnread();
    throw error;
  }
}

async function* watchedBytes(bytes: AsyncIterable<Uint8Array>, onUnread: () => void): AsyncGenerator<Uint8Array> {
  const pieces = bytes[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await watched(pieces.next(), onUnread);
      if (done === true) return;
      yield value;
    }
  } finally {
    await pieces.return?.();
  }
}

/**
 * The bytes, as long as the submission is not over. A process that was suspended in the middle of one, and has lost its
 * lease meanwhile, must not complete it before its timers run.
 */
async function* whileOpen(isOver: () => boolean, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    if (isOver()) throw new Error('The time of the submission is over.');
    yield piece;
  }
  if (isOver()) throw new Error('The time of the submission is over.');
}
