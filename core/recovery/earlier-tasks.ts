import type { Machine, Models, Money, Work } from '../context.js';
import { StoreUnavailable } from '../errors.js';
import type { Generation } from '../generation/generation.js';
import { providerOf } from '../generation/run/executions.js';
import { pagesOf } from '../paging.js';
import { pause } from '../waiting.js';

/** How many holds are read at once, at most; each is followed by a read of its generation. */
const MAX_PAGE = 100;
const RETRY_BASE_MS = 1_000;
const RETRY_CAP_MS = 30_000;

/**
 * The tasks that earlier processes left at providers with `max_concurrent`, in a process with exclusive stores. Until they are
 * counted nothing is submitted to these providers; then each takes a place there until its run has it or its attempt is over.
 */
export class EarlierTasks {
  private isStopped = false;
  private cancelTimer: (() => void) | undefined;

  /** `count` makes one task take a place. */
  constructor(
    private readonly context: Money & Work & Models & Machine,
    private readonly count: (generation: Generation, provider: string) => void,
  ) {}

  /** Counts them in the background, and tries again until that has succeeded. Does nothing on shared stores. */
  start(): void {
    if (this.context.boot.isExclusive) void this.countOrRetry(RETRY_BASE_MS);
  }

  stop(): void {
    this.isStopped = true;
    this.cancelTimer?.();
  }

  private async countOrRetry(retryMs: number): Promise<void> {
    const { clock, log, providerGates } = this.context;
    try {
      await this.countAll();
      if (!this.isStopped) providerGates.counted();
    } catch (error) {
      log.warn('tasks of earlier processes not counted', { error });
      if (this.isStopped) return;
      this.cancelTimer = clock.after(retryMs, () => void this.countOrRetry(Math.min(RETRY_CAP_MS, 2 * retryMs)));
    }
  }

  /**
   * Every generation that may have a task has an open hold, regardless of its lease and its due time, which depend on
   * earlier settings and on how the clock was set. Reads page by page, and all pages again after a failure.
   */
  private async countAll(): Promise<void> {
    const { accounts, clock, providers, settings } = this.context;
    const limit = Math.min(MAX_PAGE, settings.recoveryBatch);
    if (!providers.names().some((name) => this.isLimited(name))) return;
    for await (const items of pagesOf((page) => accounts.holdsBefore(Number.MAX_SAFE_INTEGER, page), limit)) {
      await Promise.all(items.map(({ generationId }) => this.countOne(generationId)));
      // With stores that answer synchronously everything else would wait until the last page.
      await pause(clock, 0);
      if (this.isStopped) return;
    }
  }

  private async countOne(generationId: string): Promise<void> {
    const { generations, log } = this.context;
    try {
      const record = await generations.read(generationId);
      if (record?.kind !== 'generation' || this.isStopped) return;
      const provider = this.taskAt(record);
      if (provider !== undefined && this.isLimited(provider)) this.count(record, provider);
    } catch (error) {
      // One record that can never be read must not close the providers for good.
      if (error instanceof StoreUnavailable) throw error;
      log.warn('task of an earlier process not counted', { generationId, error });
    }
  }

  /**
   * The provider that has, or may have, a task of an earlier process for the generation. A task whose outputs were
   * delivered with the response to the submission has ended.
   */
  private taskAt({ attempt, modelKey, status }: Generation): string | undefined {
    if (status !== 'running' || attempt === undefined || attempt.delivered !== undefined) return undefined;
    if (attempt.bootId === this.context.boot.id) return undefined;
    return providerOf(attempt, this.context.catalog.find(modelKey) ?? { route: [] });
  }

  private isLimited(provider: string): boolean {
    return this.context.providers.limits(provider).maxConcurrent !== undefined;
  }
}
