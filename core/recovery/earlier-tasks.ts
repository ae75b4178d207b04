import type { Machine, Models, Money, Work } from '../context.js';
import { StoreUnavailable } from '../errors.js';
import { type Generation, isTerminal } from '../generation/generation.js';
import { providerOf } from '../generation/run/executions.js';
import { type PageRequest, pagesOf } from '../paging.js';
import { pause } from '../waiting.js';

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

  /** Reads all pages again after a failure. One record that can never be read must not close the providers for good. */
  private async countAll(): Promise<void> {
    const { log, providers } = this.context;
    if (!providers.names().some((name) => this.isLimited(name))) return;
    const pages = openGenerations(this.context, (generationId, error) =>
      log.warn('task of an earlier process not counted', { generationId, error }),
    );
    for await (const page of pages) {
      if (this.isStopped) return;
      for (const generation of page) {
        const provider = this.taskAt(generation);
        if (provider !== undefined && this.isLimited(provider)) this.count(generation, provider);
      }
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

/** How many holds are read at once, at most; each is followed by a read of its generation. */
const MAX_PAGE = 100;

/**
 * Generations that have not ended, oldest first, page by page. Each has an open hold, regardless of its lease and its due
 * time, which depend on earlier settings and on how the clock was set. `onUnreadable` is called with the id of a record
 * that cannot be read, which is left out: it must not stop the others. Throws `StoreUnavailable`.
 */
export async function* openGenerations(
  { accounts, generations, clock, settings }: Money & Work & Machine,
  onUnreadable: (generationId: string, error: unknown) => void,
): AsyncGenerator<readonly Generation[]> {
  const limit = Math.min(MAX_PAGE, settings.recoveryBatch);
  const read = async (generationId: string): Promise<readonly Generation[]> => {
    try {
      const record = await generations.read(generationId);
      return record?.kind === 'generation' && !isTerminal(record.status) ? [record] : [];
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      onUnreadable(generationId, error);
      return [];
    }
  };
  const readPage = async (page: PageRequest) => {
    // With stores that answer synchronously everything else would wait until the last page.
    if (page.cursor !== undefined) await pause(clock, 0);
    return accounts.holdsBefore(Number.MAX_SAFE_INTEGER, page);
  };
  for await (const holds of pagesOf(readPage, limit))
    yield (await Promise.all(holds.map(({ generationId }) => read(generationId)))).flat();
}
