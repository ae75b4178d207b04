import type { Context } from '../../context.js';
import { StoreUnavailable } from '../../errors.js';
import { runEndsAt } from '../generation.js';
import type { LeaseHolder } from './lease-holder.js';
import { backoffMs, type WakeableDelay } from './waiting.js';

/**
 * Keeps what a provider has answered for as long as our own store is unavailable and the answer is of use: nobody else
 * knows it.
 */
export class Patience {
  private isOver = false;

  constructor(
    private readonly context: Pick<Context, 'clock' | 'settings' | 'log'>,
    private readonly holder: Pick<LeaseHolder, 'lastKnown'>,
    private readonly rest: WakeableDelay,
  ) {}

  /** This process waits no longer. */
  end(): void {
    this.isOver = true;
    this.rest.wake();
  }

  /** Tries until the store answers. Throws `StoreUnavailable` past the end of the run. */
  async try<T>(work: () => Promise<T>): Promise<T> {
    const { clock, settings, log } = this.context;
    for (let tries = 1; ; tries += 1) {
      try {
        return await work();
      } catch (error) {
        const { lastKnown } = this.holder;
        const { generationId } = lastKnown;
        if (!(error instanceof StoreUnavailable) || clock.now() > runEndsAt(lastKnown) || this.isOver) throw error;
        log.warn('answer of a provider not recorded yet', { generationId, error });
        await this.rest.sleep(backoffMs(settings, tries));
      }
    }
  }
}
