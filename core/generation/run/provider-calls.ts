import { AbortSource } from '../../cancellation.js';
import type { Files, Machine } from '../../context.js';
import { StoreUnavailable } from '../../errors.js';
import type { JsonObject } from '../../json.js';
import type {
  Provider,
  ProviderCall,
  ProviderCost,
  ProviderReport,
  RecoverAnswer,
  Submission,
  SubmitAnswer,
} from '../../ports/provider.js';
import type { Entry } from '../../providers/provider-gates.js';
import { MAX_WAIT_MS } from '../../waiting.js';
import { type Attempt, type DeliveredObject, type Generation, outputCountOf } from '../generation.js';
import { storeSubmitted, type StoringBy } from './collect-outputs.js';
import type { Execution } from './executions.js';
import type { UndoneBecause } from './run-state.js';

type Method = keyof Provider;

/** What ends calls in progress, apart from their time limits. */
export type AbortCause = 'lease lost' | 'lease lapsed' | 'cancelled' | 'stopping' | 'out of grace';

/**
 * Which calls each cause aborts. A submission may finish as long as its answer still counts: an aborted one has an
 * unknown outcome, and a provider without `recover` may have accepted it. Its answer no longer counts once another
 * worker may have the lease. Outputs that came with the answer are stored all the same: another one is not sent for that.
 */
const ABORTED_ON: Readonly<Record<AbortCause, readonly Method[]>> = {
  'lease lost': ['submit', 'poll', 'output', 'cancel', 'recover'],
  'lease lapsed': ['submit'],
  'cancelled': ['poll'],
  'stopping': ['poll', 'recover'],
  'out of grace': ['submit', 'poll', 'output', 'cancel', 'recover'],
};

/** How long an aborted submission may take to say how it ended: its answer may have come in the meantime. */
const SUBMIT_ENDS_MS = 1_000;
/** How long a provider that was asked to stop is not asked again. */
const CANCEL_AGAIN_MS = 10_000;

/** An abandoned call. Its later outcome is ignored. */
export class CallGivenUp extends Error {
  constructor(
    readonly method: Method,
    readonly why: AbortCause | 'time limit',
    limitMs: number,
  ) {
    super(
      why === 'time limit' ? `No answer to ${method} within ${limitMs} ms.` : `The call ${method} was aborted: ${why}.`,
    );
    this.name = 'CallGivenUp';
  }
}

/**
 * Whether a call was abandoned because of an event of the generation or its worker, not because it was slow: the next
 * step sees which.
 */
export function isMadeObsolete(error: unknown): boolean {
  return error instanceof CallGivenUp && error.why !== 'time limit';
}

interface CallUnderWay {
  /** What is awaited: of a submission that is answered, the outputs. */
  awaits: Method;
  readonly giveUp: (cause: AbortCause) => void;
}

type Work<T> = (call: ProviderCall, underWay: CallUnderWay) => Promise<T>;

/**
 * The calls one run makes to its provider: each has a time limit and a signal, and ends when it is aborted, though its
 * provider ignores that.
 */
export class ProviderCalls {
  private readonly underWay = new Set<CallUnderWay>();
  private readonly provider: Provider;
  private cancelAskedAt: number | undefined;

  constructor(
    private readonly context: Machine,
    private readonly of: Execution & { readonly entry: Entry },
    private readonly generationId: string,
  ) {
    this.provider = of.provider;
  }

  /** `receive` takes what the answer holds; both together take `limitMs` at most. */
  submit<T>(
    submission: Submission,
    limitMs: number,
    receive: (answer: SubmitAnswer, call: ProviderCall) => Promise<T>,
  ): Promise<T> {
    return this.during('submit', limitMs, async (call, underWay) => {
      const answer = await this.provider.submit(submission, call);
      underWay.awaits = 'output';
      return receive(answer, call);
    });
  }

  poll(reference: string, timeLeftMs: number): Promise<ProviderReport> {
    return this.during('poll', this.limitMs(timeLeftMs), (call) =>
      this.provider.poll(reference, this.of.settings, call),
    );
  }

  recover(token: string, timeLeftMs: number): Promise<RecoverAnswer> {
    return this.during('recover', this.limitMs(timeLeftMs), (call) =>
      this.provider.recover(token, this.of.settings, call),
    );
  }

  /**
   * Asks the provider to stop, unless it was asked just now. That may happen after a deadline, so only the call's own
   * time limit bounds it.
   */
  async askToStop(reference: string): Promise<void> {
    const { clock, log } = this.context;
    const now = clock.monotonic();
    if (this.cancelAskedAt !== undefined && now - this.cancelAskedAt < CANCEL_AGAIN_MS) return;
    this.cancelAskedAt = now;
    await this.during('cancel', this.limitMs(Infinity), (call) =>
      this.provider.cancel(reference, this.of.settings, call),
    ).catch((error: unknown) => {
      log.warn('provider could not be asked to stop', { generationId: this.generationId, error });
    });
  }

  /** Fetching outputs takes as long as they are large: only the generation's own time bounds it. */
  collect<T>(timeLeftMs: number, work: (call: ProviderCall) => Promise<T>): Promise<T> {
    return this.during('output', timeLeftMs, work);
  }

  /** Ends the calls in progress whose answers no longer count. */
  abort(cause: AbortCause): void {
    for (const { awaits, giveUp } of this.underWay) {
      if (ABORTED_ON[cause].includes(awaits)) giveUp(cause);
    }
  }

  private limitMs(timeLeftMs: number): number {
    return Math.min(timeLeftMs, this.context.settings.providerCallMs);
  }

  /** Tells the provider's gate what came of the call. What came of an output depends on our own store as well. */
  private async during<T>(method: Method, limitMs: number, work: Work<T>): Promise<T> {
    try {
      const answer = await this.timed(method, limitMs, work);
      this.of.entry.answered();
      return answer;
    } catch (error) {
      const isItsFault = method !== 'output' && !isMadeObsolete(error) && !(error instanceof StoreUnavailable);
      if (isItsFault) this.of.entry.failed(error);
      throw error;
    }
  }

  private timed<T>(method: Method, limitMs: number, work: Work<T>): Promise<T> {
    const { clock } = this.context;
    const source = new AbortSource();
    return new Promise((resolve, reject) => {
      let cancelTimer = clock.after(Math.min(limitMs, MAX_WAIT_MS), () => giveUp('time limit'));
      const giveUp = (cause: AbortCause | 'time limit') => {
        const reason = new CallGivenUp(method, cause, limitMs);
        this.underWay.delete(own);
        cancelTimer();
        if (method === 'submit') cancelTimer = clock.after(SUBMIT_ENDS_MS, () => reject(reason));
        source.abort(reason);
        if (method !== 'submit') reject(reason);
      };
      const own: CallUnderWay = { awaits: method, giveUp };
      this.underWay.add(own);
      const end = () => {
        this.underWay.delete(own);
        cancelTimer();
      };
      begun(work, { signal: source.signal }, own).then(
        (value) => {
          end();
          resolve(value);
        },
        (error: unknown) => {
          end();
          const reason = error instanceof Error ? error : new Error(String(error));
          // Whatever of the call still goes on is to send nothing more.
          source.abort(reason);
          reject(reason);
        },
      );
    });
  }
}

/** A provider that throws before it gives a promise has failed like any other. */
function begun<T>(work: Work<T>, call: ProviderCall, underWay: CallUnderWay): Promise<T> {
  try {
    return work(call, underWay);
  } catch (error) {
    return Promise.reject(error instanceof Error ? error : new Error(String(error)));
  }
}

/** What a submission needs beside the generation. */
export interface SubmissionOf {
  readonly attempt: Pick<Attempt, 'number' | 'token'>;
  readonly settings: JsonObject;
  readonly inputSchema: JsonObject;
  readonly timeLeftMs: number;
  /** Whether the submission is over: then no more of a reference is given. */
  readonly isOver: () => boolean;
  /** Called when our object store does not give a reference. */
  readonly onUnread: () => void;
}

/** What the provider is handed for one attempt. It sees the task, never whose it is. */
export function submissionOf(
  context: Files,
  g: Generation,
  { attempt, settings, inputSchema, timeLeftMs, isOver, onUnread }: SubmissionOf,
): Submission {
  return {
    generationId: g.generationId,
    attempt: attempt.number,
    modelKey: g.modelKey,
    operation: g.operation,
    prompt: g.prompt,
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
  context: Files & Machine,
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
