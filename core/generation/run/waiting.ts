import type { Clock } from '../../ports/machine.js';
import type { Settings } from '../../settings.js';

/** The longest a clock can be asked to wait at once. */
export const MAX_WAIT_MS = 2 ** 31 - 1;

/**
 * The wait that was asked for, within bounds and in whole milliseconds, as stores keep times; the least where none was
 * asked for, or one that is no wait.
 */
export function boundedWaitMs(askedMs: number | undefined, leastMs: number, mostMs: number): number {
  return askedMs !== undefined && askedMs > leastMs ? Math.max(leastMs, Math.min(Math.ceil(askedMs), mostMs)) : leastMs;
}

/** How long to wait before the next of several tries, in milliseconds: twice as long each time, up to a cap. */
export function backoffMs(settings: Pick<Settings, 'retryBaseMs' | 'retryCapMs'>, tries: number): number {
  return Math.min(settings.retryCapMs, settings.retryBaseMs * 2 ** Math.min(tries - 1, 20));
}

/** A sleep that can be ended early. A wake without a sleeper ends the next sleep at once. */
export class WakeableDelay {
  private isWoken = false;
  private finish: (() => void) | undefined;

  constructor(private readonly clock: Clock) {}

  wake(): void {
    this.isWoken = true;
    this.finish?.();
  }

  async sleep(durationMs: number): Promise<void> {
    if (!this.isWoken) {
      await new Promise<void>((resolve) => {
        const cancel = this.clock.after(Math.min(durationMs, MAX_WAIT_MS), resolve);
        this.finish = () => {
          cancel();
          resolve();
        };
      });
    }
    this.finish = undefined;
    this.isWoken = false;
  }
}
