import { ServiceError } from '../../core/errors.js';
import { RateLimit } from '../rate-limit.js';
import type { ServiceCaller, ServiceScope } from './service-callers.js';

/** How often services may call this process, each as the operator says of it. */
export class CallerRates {
  private readonly limits = new Map<string, RateLimit>();

  /** Counts a call that needs the scope. Throws RATE_LIMITED. */
  async take({ name, ratesPerMinute = {} }: ServiceCaller, scope: ServiceScope): Promise<void> {
    const kind = scope.endsWith(':write') ? 'writes' : 'reads';
    const perMinute = ratesPerMinute[kind];
    if (perMinute === undefined) return;
    const { isOver, resetMs } = await this.limitOf(`${kind} of ${name}`, perMinute).take(name);
    if (isOver) throw new ServiceError('RATE_LIMITED', `${name} may send ${perMinute} ${kind} a minute; wait for the time in RetryInfo.`, { retryAfterMs: resetMs });
  }

  /** A limit that the operator has changed counts from then on. */
  private limitOf(what: string, perMinute: number): RateLimit {
    let limit = this.limits.get(what);
    if (limit?.perMinute !== perMinute) this.limits.set(what, (limit = new RateLimit(perMinute)));
    return limit;
  }
}
