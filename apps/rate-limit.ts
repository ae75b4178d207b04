import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ServiceError } from '../core/errors.js';

export const RATE_WINDOW_SECONDS = 60;

/** The state of a client's limit after a request was counted. */
export interface Rate {
  readonly isOver: boolean;
  /** Requests left until the reset, `resetMs` from now. */
  readonly remaining: number;
  readonly resetMs: number;
}

/** A request counts once, and once more for every multiple of this many bytes in its body. */
const BYTES_A_POINT = 16 * 1024;

/** The points that a request with a body of this size takes from a rate. */
export function pointsOf(byteSize: number): number {
  return 1 + Math.floor(byteSize / BYTES_A_POINT);
}

/** Part of the message of a refusal, because a client that only counts its requests would not see the reason. */
export function sizeNote(points: number): string {
  return points === 1 ? '' : `, and this one counts as ${points} for its size`;
}

/** The number of requests that one client may send to this process per minute, or per another period. */
export class RateLimit {
  readonly #limiter: RateLimiterMemory;

  constructor(
    private readonly most: number,
    windowSeconds = RATE_WINDOW_SECONDS,
  ) {
    this.#limiter = new RateLimiterMemory({ points: most, duration: windowSeconds });
  }

  /**
   * Counts a request of `points`, of which `taken` were counted before. One request takes at most the whole rate, so
   * that each can be sent at some time. Nothing is due once all of it was counted, and requests that others sent since
   * do not put it over the limit.
   */
  async take(who: string, points = 1, taken = 0): Promise<Rate> {
    const due = Math.min(points, this.most) - Math.min(taken, this.most);
    if (due <= 0 && taken > 0) return this.#standing(who);
    try {
      return rateOf(await this.#limiter.consume(who, due), false);
    } catch (refusal) {
      if (refusal instanceof RateLimiterRes) return rateOf(refusal, true);
      throw refusal;
    }
  }

  /** Counts a request. Throws RATE_LIMITED with `message` and the time to wait. */
  async require(who: string, message: string): Promise<void> {
    const { isOver, resetMs } = await this.take(who);
    if (isOver) throw new ServiceError('RATE_LIMITED', message, { retryAfterMs: resetMs });
  }

  async #standing(who: string): Promise<Rate> {
    const standing = await this.#limiter.get(who);
    return standing === null ? { isOver: false, remaining: this.most, resetMs: 0 } : rateOf(standing, false);
  }
}

function rateOf({ remainingPoints, msBeforeNext }: RateLimiterRes, isOver: boolean): Rate {
  return { isOver, remaining: remainingPoints, resetMs: msBeforeNext };
}
