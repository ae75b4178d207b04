import type { ServerResponse } from 'node:http';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ServiceError } from '../../core/errors.js';
import type { RestLimits } from './limits.js';

const WINDOW_SECONDS = 60;

/** How many requests a credential may send in a minute to this process. Every answer it counts says how many are left. */
export class RateLimit {
  readonly #limiter: RateLimiterMemory;
  readonly #policy: string;

  constructor(private readonly name: string, private readonly perMinute: number) {
    this.#limiter = new RateLimiterMemory({ points: perMinute, duration: WINDOW_SECONDS });
    this.#policy = `"${name}";q=${perMinute};w=${WINDOW_SECONDS}`;
  }

  /** Throws RATE_LIMITED. */
  async take(credentialId: string, res: ServerResponse): Promise<void> {
    try {
      this.#show(await this.#limiter.consume(credentialId), res);
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      this.#show(refusal, res);
      const message = `A credential may send ${this.perMinute} ${this.name} a minute; wait for the time in Retry-After.`;
      throw new ServiceError('RATE_LIMITED', message, { retryAfterMs: refusal.msBeforeNext });
    }
  }

  #show({ remainingPoints, msBeforeNext }: RateLimiterRes, res: ServerResponse): void {
    res.setHeader('RateLimit-Policy', this.#policy);
    res.setHeader('RateLimit', `"${this.name}";r=${remainingPoints};t=${Math.ceil(msBeforeNext / 1_000)}`);
  }
}

export type RateLimits = Readonly<Partial<Record<'reads' | 'writes', RateLimit>>>;

/** A rate of 0 is no limit. */
export function createRateLimits({ readsPerMinute, writesPerMinute }: Pick<RestLimits, 'readsPerMinute' | 'writesPerMinute'>): RateLimits {
  return {
    ...(readsPerMinute > 0 ? { reads: new RateLimit('reads', readsPerMinute) } : {}),
    ...(writesPerMinute > 0 ? { writes: new RateLimit('writes', writesPerMinute) } : {}),
  };
}
