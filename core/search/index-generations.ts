import type { Machine, Work } from '../context.js';
import { StoreUnavailable } from '../errors.js';
import { leastIdAt } from '../ids.js';
import type { SearchProgress } from '../ports/search.js';
import { MAX_CLOCK_SKEW_MS } from '../settings.js';
import { hasContent } from './removed-words.js';
import { entryOf } from './words.js';

/** How long one process extends the index before others look whether it still does, in milliseconds. */
const HOLD_MS = 60_000;

export interface IndexingBounds {
  /** Generations that are read and written at a time, 1 to 500; between them it can be stopped. */
  readonly batch: number;
  /** New generations that one pass takes in. */
  readonly newest: number;
  /** Earlier generations that one pass takes in, after an upgrade or a long outage. */
  readonly earlier: number;
}

const BOUNDS: IndexingBounds = { batch: 100, newest: 20_000, earlier: 5_000 };

/**
 * Takes generations into the index of searches some minutes after their creation, in the order of their ids from the newest,
 * and then those of before the index. Any number of processes may do it: one of them at a time, which it notes in the progress.
 * Additions may be repeated, so a process that dies, or is overtaken, leaves nothing wrong.
 */
export class SearchIndexer {
  private isStopped = false;

  constructor(
    private readonly context: Pick<Work, 'generations' | 'generationSearch'> &
      Pick<Machine, 'clock' | 'log' | 'settings' | 'boot'>,
    private readonly bounds: IndexingBounds = BOUNDS,
  ) {}

  /** Runs one bounded pass; the next one continues. Throws `StoreUnavailable`; any other error ends only the pass. */
  async pass(): Promise<void> {
    try {
      const held = await this.hold();
      if (held === undefined) return;
      const current = await this.takeInNewest(held);
      if (current !== undefined) await this.takeInEarlier(current);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      this.context.log.warn('generations not indexed', { error });
    }
  }

  stop(): void {
    this.isStopped = true;
  }

  /** Undefined while another process does it. */
  private async hold(): Promise<SearchProgress | undefined> {
    const { clock, boot, generationSearch } = this.context;
    const now = clock.now();
    const known = await generationSearch.readProgress();
    const isFree = known === null || known.holder === boot.id || known.heldUntil <= now;
    // A clock that is set back must not keep the index from growing.
    if (!isFree && known.heldUntil <= now + HOLD_MS + MAX_CLOCK_SKEW_MS) return undefined;
    const start = this.settledBefore();
    return this.write(known ?? { version: 0, newest: start, oldest: start, holder: boot.id, heldUntil: 0 }, {});
  }

  /** No generation with a lower id is inserted any more: its request would have lost its claim. */
  private settledBefore(): string {
    const { clock, settings } = this.context;
    return leastIdAt(Math.max(0, clock.now() - settings.claimLeaseMs - MAX_CLOCK_SKEW_MS));
  }

  private async write(
    known: SearchProgress,
    change: Partial<Pick<SearchProgress, 'newest' | 'oldest'>>,
  ): Promise<SearchProgress | undefined> {
    const { clock, boot, generationSearch } = this.context;
    const heldUntil = clock.now() + HOLD_MS;
    const next = { ...known, ...change, holder: boot.id, heldUntil, version: known.version + 1 };
    return (await generationSearch.replaceProgress(next, known.version)) === 'applied' ? next : undefined;
  }

  /**
   * Those since the last pass. If they are too many for one, the rest counts as earlier, together with all that was indexed:
   * additions of what is indexed change nothing.
   */
  private async takeInNewest(progress: SearchProgress): Promise<SearchProgress | undefined> {
    const newest = this.settledBefore();
    if (newest <= progress.newest) return progress;
    const reached = await this.takeIn(newest, progress.newest, this.bounds.newest);
    if (reached === undefined) return undefined;
    return this.write(progress, reached > progress.newest ? { newest, oldest: reached } : { newest });
  }

  private async takeInEarlier(progress: SearchProgress): Promise<void> {
    let current: SearchProgress | undefined = progress;
    const { batch, earlier } = this.bounds;
    for (let left = earlier; left > 0 && current !== undefined && current.oldest > BEFORE_ALL_IDS; left -= batch) {
      const oldest: string | undefined = await this.takeIn(current.oldest, BEFORE_ALL_IDS, batch);
      current = oldest === undefined ? undefined : await this.write(current, { oldest });
    }
  }

  /**
   * Adds the generations with ids from `from` up to `before`, newest first, about as many as `most`. Returns how far it came;
   * undefined once it is stopped.
   */
  private async takeIn(before: string, from: string, most: number): Promise<string | undefined> {
    const { generations, generationSearch } = this.context;
    let reached = before;
    for (let taken = 0; taken < most && reached > from;) {
      if (this.isStopped) return undefined;
      const { items, nextCursor } = await generations.list(
        { of: 'all' },
        { limit: this.bounds.batch, cursor: reached },
      );
      const wanted = items.filter((one) => one.generationId >= from);
      const entries = wanted.filter(hasContent).map(entryOf);
      if (entries.length > 0) await generationSearch.add(entries);
      taken += wanted.length;
      reached = wanted.length < items.length || nextCursor === undefined ? from : (wanted.at(-1)?.generationId ?? from);
    }
    return reached;
  }
}

/** No id is less. */
export const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000';
