import { ServiceError } from '../../../core/errors.js';
import { pointsOf, RateLimit, sizeNote } from '../../requests/rate-limit.js';
import { rateOf, type ServiceCaller, type ServiceScope } from './service-callers.js';

/** How often services may call this process, each as the operator says of it. */
export class CallerRates {
  private readonly limits = new Map<string, RateLimit>();

  /** Counts a call that needs the scope and whose request had that many bytes. Throws RATE_LIMITED. */
  async take({ name, ratesPerMinute = {} }: ServiceCaller, scope: ServiceScope, byteSize: number): Promise<void> {
    const kind = rateOf(scope);
    const perMinute = ratesPerMinute[kind];
    if (perMinute === undefined) return;
    const points = pointsOf(byteSize);
    const { isOver, resetMs } = await this.limitOf(kind, perMinute).take(name, points);
    if (isOver)
      throw new ServiceError(
        'RATE_LIMITED',
        `${name} may send ${perMinute} ${kind} a minute${sizeNote(points)}; wait for the time in RetryInfo.`,
        { retryAfterMs: resetMs },
      );
  }

  /**
   * One for each rate there is: a caller whose rate was changed, or differs from that of another token of its name, has
   * both.
   */
  private limitOf(kind: 'reads' | 'writes', perMinute: number): RateLimit {
    const what = `${perMinute} ${kind}`;
    let limit = this.limits.get(what);
    if (limit === undefined) this.limits.set(what, (limit = new RateLimit(perMinute)));
    return limit;
  }
}
