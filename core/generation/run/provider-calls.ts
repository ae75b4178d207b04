import { AbortSource } from '../../cancellation.js';
import type { Machine } from '../../context.js';
import { StoreUnavailable } from '../../errors.js';
import type {
  Provider,
  ProviderCall,
  ProviderReport,
  RecoverAnswer,
  Submission,
  SubmitAnswer,
} from '../../ports/provider.js';
import type { Entry } from '../../providers/provider-gates.js';
import { MAX_WAIT_MS } from '../../waiting.js';
import type { Execution } from './executions.js';

type Method = keyof Provider;

/** Reasons to abort calls in progress, besides their time limits. */
export type AbortCause = 'lease lost' | 'lease lapsed' | 'cancelled' | 'stopping' | 'out of grace';

/**
 * The calls that each cause aborts. A submission may finish as long as its answer still counts: an aborted one has an
 * unknown outcome, and a provider without `recover` may have accepted it. Its answer no longer counts once another
 * worker may have the lease. Outputs that came with the answer are stored anyway, so that the task is not submitted
 * again.
 */
const ABORTED_ON: Readonly<Record<AbortCause, readonly Method[]>> = {
  'lease lost': ['submit', 'poll', 'output', 'cancel', 'recover'],
  'lease lapsed': ['submit'],
  'cancelled': ['poll'],
  'stopping': ['poll', 'recover'],
  'out of grace': ['submit', 'poll', 'output', 'cancel', 'recover'],
};

/**
 * How long an aborted submission may take to report how it ended, in milliseconds: its answer may have come in the
 * meantime.
 */
const SUBMIT_ENDS_MS = 1_000;
/** The least time between two requests to stop the same task, in milliseconds. */
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
  /** The call that is awaited; once a submission is answered, its outputs. */
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
   * Asks the provider to stop, unless it was asked just now. This may happen after a deadline, so only the call's own
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

  /**
   * Reports the result of the call to the provider's gate. Failed outputs are not reported, because they depend on our
   * own store as well.
   */
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
      started(work, { signal: source.signal }, own).then(
        (value) => {
          end();
          resolve(value);
        },
        (error: unknown) => {
          end();
          const reason = error instanceof Error ? error : new Error(String(error));
          // Any remaining work of the call must not send anything more.
          source.abort(reason);
          reject(reason);
        },
      );
    });
  }
}

/** A provider that throws before it gives a promise has failed like any other. */
function started<T>(work: Work<T>, call: ProviderCall, underWay: CallUnderWay): Promise<T> {
  try {
    return work(call, underWay);
  } catch (error) {
    return Promise.reject(error instanceof Error ? error : new Error(String(error)));
  }
}
