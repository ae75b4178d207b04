import type { Logger } from 'pino';
import { ServiceError } from '../../../core/errors.js';
import type { Clock } from '../../../core/ports/machine.js';
import { INVALID_CREDENTIAL } from './errors.js';

const WINDOW_MS = 60_000;
/** Beyond this number, the clients of a window are counted as one. */
const MAX_ADDRESSES = 10_000;
const OTHERS = 'others';
/** Refused requests per window that get their own line in the log; the others are only counted. */
const LOGGED_PER_ADDRESS = 5;
const LOGGED_IN_ALL = 100;
const SHOWN_ADDRESSES = 5;

/** The counts of one address. */
interface Counts {
  failures: number;
  refusals: number;
}

interface Window {
  readonly startedAt: number;
  readonly countsByAddress: Map<string, Counts>;
  readonly cancelTimer: () => void;
  failures: number;
  refusals: number;
  logged: number;
}

/**
 * Refused unauthenticated requests, by the client's address, in each minute: all of them, for the log, which they must
 * not fill; and those with an invalid credential, for a limit. Only such a failure is refused for exceeding the limit:
 * a valid credential is not affected by others at the same address.
 */
export class UnauthenticatedRefusals {
  private window: Window | undefined;

  /** 0 per minute means unlimited. */
  constructor(
    private readonly perMinute: number,
    private readonly parts: { readonly clock: Clock; readonly logger: Logger },
  ) {}

  /** Counts an error of authentication, and returns the error to throw: RATE_LIMITED once there were too many. */
  countFailure(address: string, error: ServiceError): ServiceError {
    if (!INVALID_CREDENTIAL.has(error.code)) return error;
    const window = this.current();
    const counts = countsOf(window, address);
    counts.failures += 1;
    window.failures += 1;
    return this.perMinute > 0 && counts.failures > this.perMinute ? this.tooMany(window) : error;
  }

  /** Counts a refused request, and returns whether it gets its own line in the log. */
  isLogged(address: string): boolean {
    const window = this.current();
    const counts = countsOf(window, address);
    counts.refusals += 1;
    window.refusals += 1;
    if (counts.refusals > LOGGED_PER_ADDRESS || window.logged >= LOGGED_IN_ALL) return false;
    window.logged += 1;
    return true;
  }

  /** Logs the pending summary, and clears the timer. */
  close(): void {
    if (this.window !== undefined) this.end(this.window);
  }

  private tooMany({ startedAt }: Window): ServiceError {
    const retryAfterMs = startedAt + WINDOW_MS - this.parts.clock.now();
    return new ServiceError(
      'RATE_LIMITED',
      'Too many requests from this address had a credential that is not valid; wait for the time in Retry-After. A valid one is always taken.',
      { retryAfterMs },
    );
  }

  /** A timer may be late, and a clock may be set back: whichever is first ends a window. */
  private current(): Window {
    const { clock } = this.parts;
    const now = clock.now();
    const known = this.window;
    if (known !== undefined && now >= known.startedAt && now - known.startedAt < WINDOW_MS) return known;
    if (known !== undefined) this.end(known);
    const window: Window = {
      startedAt: now,
      countsByAddress: new Map(),
      failures: 0,
      refusals: 0,
      logged: 0,
      cancelTimer: clock.after(WINDOW_MS, () => this.end(window)),
    };
    this.window = window;
    return window;
  }

  private end(window: Window): void {
    if (this.window !== window) return;
    this.window = undefined;
    window.cancelTimer();
    const { failures, refusals, logged, countsByAddress } = window;
    if (refusals === logged) return;
    const most = [...countsByAddress]
      .toSorted(([, one], [, other]) => other.refusals - one.refusals)
      .slice(0, SHOWN_ADDRESSES)
      .map(([address, counts]) => ({ address, ...counts }));
    this.parts.logger.warn(
      { refusals, failures, notLogged: refusals - logged, addresses: countsByAddress.size, most },
      'unauthenticated requests refused',
    );
  }
}

function countsOf({ countsByAddress }: Window, address: string): Counts {
  const key = countsByAddress.size < MAX_ADDRESSES || countsByAddress.has(address) ? address : OTHERS;
  let counts = countsByAddress.get(key);
  if (counts === undefined) countsByAddress.set(key, (counts = { failures: 0, refusals: 0 }));
  return counts;
}
