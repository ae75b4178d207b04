import type { ServerResponse } from 'node:http';
import { ServiceError } from '../../../core/errors.js';
import { RATE_WINDOW_SECONDS, RateLimit, sizeNote } from '../../requests/rate-limit.js';

/**
 * How many requests a credential may send in a minute to this process. Every answer it counts says how many are left.
 */
export class ShownRateLimit {
  readonly #limit: RateLimit;
  readonly #policy: string;

  constructor(
    private readonly name: string,
    private readonly perMinute: number,
  ) {
    this.#limit = new RateLimit(perMinute);
    this.#policy = `"${name}";q=${perMinute};w=${RATE_WINDOW_SECONDS}`;
  }

  /** Counts a request of `points`, of which `taken` were counted before. Throws RATE_LIMITED. */
  async take(credentialId: string, res: ServerResponse, points: number, taken = 0): Promise<void> {
    const { isOver, remaining, resetMs } = await this.#limit.take(credentialId, points, taken);
    res.setHeader('RateLimit-Policy', this.#policy);
    res.setHeader('RateLimit', `"${this.name}";r=${remaining};t=${Math.ceil(resetMs / 1_000)}`);
    if (!isOver) return;
    const message = `A credential may send ${this.perMinute} ${this.name} a minute${sizeNote(points)}; wait for the time in Retry-After.`;
    throw new ServiceError('RATE_LIMITED', message, { retryAfterMs: resetMs });
  }
}

/** Reads and writes a minute for one credential in this process; 0 turns the limit off. */
export interface CredentialLimits {
  readonly readsPerMinute: number;
  readonly writesPerMinute: number;
}

export const DEFAULT_CREDENTIAL_LIMITS: CredentialLimits = { readsPerMinute: 1_200, writesPerMinute: 300 };

/** Shared by the fronts that credentials are for: none of them is a way around the rates of another. */
export type CredentialRates = Readonly<Partial<Record<'reads' | 'writes', ShownRateLimit>>>;

/** A rate of 0 is no limit. */
export function createCredentialRates({ readsPerMinute, writesPerMinute }: CredentialLimits): CredentialRates {
  return {
    ...(readsPerMinute > 0 ? { reads: new ShownRateLimit('reads', readsPerMinute) } : {}),
    ...(writesPerMinute > 0 ? { writes: new ShownRateLimit('writes', writesPerMinute) } : {}),
  };
}
