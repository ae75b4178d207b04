import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

export const RATE_WINDOW_SECONDS = 60;

/** How somebody stands with a limit after a request was counted. */
export interface Rate {
  readonly isOver: boolean;
  /** Requests left until `resetMs` from now. */
  readonly remaining: number;
  readonly resetMs: number;
}

/** How many requests anybody may send in a minute to this process. */
export class RateLimit {
  readonly #limiter: RateLimiterMemory;

  constructor(perMinute: number) {
    this.#limiter = new RateLimiterMemory({ points: perMinute, duration: RATE_WINDOW_SECONDS });
  }

  async take(who: string): Promise<Rate> {
    try {
      return rateOf(await this.#limiter.consume(who), false);
    } catch (refusal) {
      if (refusal instanceof RateLimiterRes) return rateOf(refusal, true);
      throw refusal;
    }
  }
}

function rateOf({ remainingPoints, msBeforeNext }: RateLimiterRes, isOver: boolean): Rate {
  return { isOver, remaining: remainingPoints, resetMs: msBeforeNext };
}
