import type { Context } from '../../context.js';
import { StoreUnavailable } from '../../errors.js';
import type { DeliveredObject, Generation } from '../generation.js';
import { collectOutputs, inspectDelivered, removeCollected, type Collected } from './collect-outputs.js';
import type { LeaseHolder } from './lease-holder.js';
import { CallGivenUp, type ProviderCalls } from './provider-calls.js';
import type { FinishedReport, News } from './run-state.js';
import type { Execution } from './unknown-model.js';

type OutputNews = Extract<News, { of: 'collect' | 'failed-collect' }>;

interface Finished {
  readonly reference: string;
  readonly report: FinishedReport;
  readonly timeLeftMs: () => number;
}

/** Brings the outputs of one run into the object store, each time under a fence whose keys are unused. */
export class RunOutputs {
  /** The fence under which outputs were written last: its keys are used up. */
  private writtenUnder: number | undefined;

  constructor(
    private readonly context: Context,
    private readonly of: Execution,
    private readonly holder: LeaseHolder,
    private readonly calls: ProviderCalls,
  ) {}

  /**
   * The generation under a fence that nothing was written under, and nothing else will be. What was written before is
   * useless; retention removes what cannot be removed now.
   */
  async withUnusedKeys(g: Generation): Promise<Generation> {
    let leased = g;
    if (g.fence === this.writtenUnder) {
      leased = await this.holder.reLease();
      await removeCollected(this.context, g, g.fence).catch(() => undefined);
    }
    this.writtenUnder = leased.fence;
    return leased;
  }

  /** Fetches and checks what a finished task has; undefined when the fetching was abandoned. */
  async collect(g: Generation, { reference, report, timeLeftMs }: Finished): Promise<OutputNews | undefined> {
    const leased = await this.withUnusedKeys(g);
    try {
      const { length } = report.outputs;
      const collected = await this.calls.collect(timeLeftMs(), (call) =>
        collectOutputs(this.context, this.of, leased, reference, length, call),
      );
      return this.collected(g, report, collected);
    } catch (error) {
      return error instanceof CallGivenUp ? undefined : this.notCollected(g, error);
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
    return { of: 'failed-collect', isStoreAway: error instanceof StoreUnavailable };
  }
}
