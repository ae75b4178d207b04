import { ServiceError } from '../../core/errors.js';
import type { Clock } from '../../core/ports/clock.js';
import { UNAVAILABLE_RETRY_MS } from '../requests/service-error.js';

/** How long after a probe that said no the next one begins. */
const PROBE_AGAIN_MS = 500;

/**
 * Refuses immediately what the database could not answer anyway. After a failed call the database is asked whether it
 * is ready, one probe at a time, until the answer is yes; while the last answer was no the gate is closed. A failed
 * call alone does not close the gate.
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

  /** Reports a call that failed because the database was unavailable. */
  suspect(): void {
    if (this.isProbing || this.isClosed) return;
    this.isProbing = true;
    void this.probe();
  }

  /** Throws SERVICE_UNAVAILABLE while the database is known to be unavailable, unless the request does not need it. */
  requireOpen(wouldAsk: () => boolean = () => true): void {
    if (!this.isShut || !wouldAsk()) return;
    this.onRefused();
    throw new ServiceError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: UNAVAILABLE_RETRY_MS });
  }

  /** Opens permanently: from now on the stores themselves answer. */
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
