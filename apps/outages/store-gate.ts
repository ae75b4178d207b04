import { ServiceError } from '../../core/errors.js';
import type { Clock } from '../../core/ports/clock.js';
import { UNAVAILABLE_RETRY_MS } from '../requests/service-error.js';

/** How long after a probe that said no the next one begins. */
const PROBE_AGAIN_MS = 500;

/**
 * Refuses at once what the database could not answer anyway. After a call that failed the database is asked whether it
 * is ready, one probe at a time, until it says yes; while the last answer was no the gate is shut. A call that failed
 * shuts nothing by itself.
 */
export class StoreGate {
  private isShut = false;
  private isProbing = false;
  private isClosed = false;
  private cancelProbe: (() => void) | undefined;

  /** `onRefused` is called for each request that is refused. */
  constructor(
    private readonly isReady: () => Promise<boolean>,
    private readonly clock: Pick<Clock, 'after'>,
    private readonly onRefused: () => void = () => undefined,
  ) {}

  /** Says that a call has failed for want of the database. */
  suspect(): void {
    if (this.isProbing || this.isClosed) return;
    this.isProbing = true;
    void this.probe();
  }

  /** Throws SERVICE_UNAVAILABLE while the database is known to be away, unless it would not be asked anyway. */
  requireOpen(wouldAsk: () => boolean = () => true): void {
    if (!this.isShut || !wouldAsk()) return;
    this.onRefused();
    throw new ServiceError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: UNAVAILABLE_RETRY_MS });
  }

  /** Opens for good: whoever comes now is answered by the stores themselves. */
  close(): Promise<void> {
    this.isClosed = true;
    this.isShut = false;
    this.cancelProbe?.();
    return Promise.resolve();
  }

  private async probe(): Promise<void> {
    const isReady = await this.isReady().catch(() => false);
    this.isProbing = !isReady && !this.isClosed;
    this.isShut = this.isProbing;
    if (this.isProbing) this.cancelProbe = this.clock.after(PROBE_AGAIN_MS, () => void this.probe());
  }
}
