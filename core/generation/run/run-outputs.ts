import type { Context } from '../../context.js';
import { StoreUnavailable } from '../../errors.js';
import type { DeliveredObject, Generation, Output } from '../generation.js';
import { collectOutputs, inspectDelivered, removeCollected, type Collected, type Fault } from './collect-outputs.js';
import type { LeaseHolder } from './lease-holder.js';
import { isMadeObsolete, type ProviderCalls } from './provider-calls.js';
import type { FinishedReport, News, Silence } from './run-state.js';
import type { Execution } from './unknown-model.js';

type OutputNews = Extract<News, { of: 'collect' | 'failed-collect' }>;

interface Finished {
  readonly reference: string;
  readonly report: FinishedReport;
  readonly timeLeftMs: () => number;
  /** Whether the deadline has passed: then what does not arrive is left out where something else does. */
  readonly isLastTry: boolean;
}

/** Brings the outputs of one run into the object store, each time under a fence whose keys are unused. */
export class RunOutputs {
  /** The fence under which outputs were written last: its keys are used up. */
  private writtenUnder: number | undefined;
  /** What has arrived of the task, by the index of the output, under whichever fence. */
  private readonly arrived = new Map<number, Output | Fault>();

  constructor(
    private readonly context: Context,
    private readonly of: Execution,
    private readonly holder: LeaseHolder,
    private readonly calls: ProviderCalls,
    /** What a failed call leaves to be known. */
    private readonly silenceOf: (error: unknown) => Silence,
  ) {}

  /** Whether something was, or may have been, written under the generation's fence. */
  hasUsedKeys(g: Generation): boolean {
    return g.fence === this.writtenUnder;
  }

  /**
   * Takes a fence whose keys are unused. What was written before and has not arrived is useless; retention removes what is
   * left of it.
   */
  async renewKeys(g: Generation): Promise<Generation> {
    const leased = await this.holder.reLease();
    await removeCollected(this.context, g, g.fence, this.arrived).catch(() => undefined);
    return leased;
  }

  /** Takes another fence for some of the outputs; what was written under this one stays. */
  async otherKeys(): Promise<Generation> {
    const leased = await this.holder.reLease();
    this.useKeys(leased);
    return leased;
  }

  /** From now on the keys of the generation's fence count as used. */
  useKeys(g: Generation): void {
    this.writtenUnder = g.fence;
  }

  /** Fetches and checks what a finished task has; undefined when the fetching was abandoned. */
  async collect(
    g: Generation,
    { reference, report, timeLeftMs, isLastTry }: Finished,
  ): Promise<OutputNews | undefined> {
    const leased = this.hasUsedKeys(g) ? await this.renewKeys(g) : g;
    this.useKeys(leased);
    try {
      const { length } = report.outputs;
      const { arrived } = this;
      const collected = await this.calls.collect(timeLeftMs(), (call) =>
        collectOutputs(this.context, this.of, leased, {
          reference,
          offered: length,
          isLastTry,
          arrived,
          call,
          otherKeys: async () => this.otherKeys(),
        }),
      );
      return this.collected(g, report, collected);
    } catch (error) {
      return isMadeObsolete(error) ? undefined : this.notCollected(g, error);
    }
  }

  /** Checks what the provider gave in its answer to the submission. */
  async inspect(g: Generation, delivered: readonly DeliveredObject[]): Promise<OutputNews> {
    try {
      return this.collected(g, { state: 'succeeded' }, await inspectDelivered(this.context, this.of, g, delivered));
    } catch (error) {
      return this.notCollected(g, error);
    }
  }

  private collected(
    { generationId }: Generation,
    { state }: Pick<FinishedReport, 'state'>,
    { outputs, faults }: Collected,
  ): OutputNews {
    if (faults.length > 0) this.context.log.warn('outputs left out', { generationId, faults });
    return { of: 'collect', report: { state }, outputs };
  }

  private notCollected({ generationId }: Generation, error: unknown): OutputNews {
    this.context.log.warn('outputs not collected', { generationId, error });
    const { retryAfterMs } = this.silenceOf(error);
    return {
      of: 'failed-collect',
      isStoreAway: error instanceof StoreUnavailable,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
  }
}
