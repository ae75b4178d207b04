import type { Logger } from 'pino';
import { ServiceError, type ErrorCode } from '../../core/errors.js';
import type { Clock } from '../../core/ports/clock.js';

/** A credential that was never sent is no guess, and costs nothing to refuse. */
const COUNTED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['DEVELOPER_TOKEN_INVALID', 'DEVELOPER_TOKEN_EXPIRED', 'DEVELOPER_TOKEN_REVOKED']);
const WINDOW_MS = 60_000;
/** Beyond these, clients of a window are counted as one. */
const MAX_ADDRESSES = 10_000;
const OTHERS = 'others';
/** Requests of a window that have a line of their own in the log; the others are counted. */
const LOGGED_PER_ADDRESS = 5;
const LOGGED_IN_ALL = 100;
const SHOWN_ADDRESSES = 5;

interface Window {
  readonly startedAt: number;
  readonly countByAddress: Map<string, number>;
  readonly cancelTimer: () => void;
  failures: number;
  logged: number;
}

export interface FailedAuthentication {
  /** What to refuse the request with. */
  readonly error: ServiceError;
  /** Whether its line is left out of the log, because there are too many. */
  readonly isLeftOut: boolean;
}

/**
 * Credentials that were refused, by the client's address, in each minute. Only a failure is counted, and only a failure is
 * refused for it: whoever sends a valid credential shares an address with others for free.
 */
export class FailedAuthentications {
  private window: Window | undefined;

  /** 0 a minute is no limit. */
  constructor(private readonly perMinute: number, private readonly parts: { readonly clock: Clock; readonly logger: Logger }) {}

  /** Counts what authentication threw, and says what to throw in its place: RATE_LIMITED once there were too many. */
  count(address: string, error: ServiceError): FailedAuthentication {
    if (!COUNTED.has(error.code)) return { error, isLeftOut: false };
    const window = this.current();
    const { countByAddress } = window;
    const key = countByAddress.size < MAX_ADDRESSES || countByAddress.has(address) ? address : OTHERS;
    const count = (countByAddress.get(key) ?? 0) + 1;
    countByAddress.set(key, count);
    window.failures += 1;
    const isLeftOut = count > LOGGED_PER_ADDRESS || window.logged >= LOGGED_IN_ALL;
    if (!isLeftOut) window.logged += 1;
    return { error: this.perMinute > 0 && count > this.perMinute ? this.tooMany(window) : error, isLeftOut };
  }

  /** Says what is left to say, and leaves no timer behind. */
  close(): void {
    if (this.window !== undefined) this.end(this.window);
  }

  private tooMany({ startedAt }: Window): ServiceError {
    const retryAfterMs = startedAt + WINDOW_MS - this.parts.clock.now();
    return new ServiceError('RATE_LIMITED', 'Too many requests from this address had a credential that is not valid; wait for the time in Retry-After. A valid one is always taken.', { retryAfterMs });
  }

  /** A timer may be late, and a clock may be set back: whichever is first ends a window. */
  private current(): Window {
    const { clock } = this.parts;
    const now = clock.now();
    const known = this.window;
    if (known !== undefined && now >= known.startedAt && now - known.startedAt < WINDOW_MS) return known;
    if (known !== undefined) this.end(known);
    const window: Window = { startedAt: now, countByAddress: new Map(), failures: 0, logged: 0, cancelTimer: clock.after(WINDOW_MS, () => this.end(window)) };
    this.window = window;
    return window;
  }

  private end(window: Window): void {
    if (this.window !== window) return;
    this.window = undefined;
    window.cancelTimer();
    const { failures, logged, countByAddress } = window;
    if (failures === logged) return;
    const most = [...countByAddress].toSorted(([, one], [, other]) => other - one).slice(0, SHOWN_ADDRESSES).map(([address, count]) => ({ address, failures: count }));
    this.parts.logger.warn({ failures, notLogged: failures - logged, addresses: countByAddress.size, most }, 'failed authentications');
  }
}
