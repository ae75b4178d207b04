import { ServiceError } from '../../../core/errors.js';
import { RateLimit } from '../../requests/rate-limit.js';
import type { HttpContext } from '../host/http-context.js';
import type { ClientAddresses } from '../host/client-addresses.js';

const REQUESTS_A_MINUTE = 600;
const BEGUN_A_MINUTE = 120;

/**
 * How much one address may ask of a front in this process for which nobody has to be known: 600 requests a minute, of which
 * 120 may begin something that is kept for a while, such as an authorization, a device code or a sign-in elsewhere.
 */
export class RequestRates {
  private readonly requests = new RateLimit(REQUESTS_A_MINUTE);
  private readonly begun = new RateLimit(BEGUN_A_MINUTE);

  constructor(private readonly addresses: ClientAddresses) {}

  /** Counts a request. Throws RATE_LIMITED with the time to wait. */
  async takeRequest({ req }: Pick<HttpContext, 'req'>): Promise<void> {
    await take(this.requests, this.addresses.ofRequest(req));
  }

  /** As `takeRequest`, for a request that begins something. */
  async takeBegun(ctx: Pick<HttpContext, 'req'>): Promise<void> {
    await this.takeRequest(ctx);
    await take(this.begun, this.addresses.ofRequest(ctx.req));
  }
}

async function take(rates: RateLimit, address: string): Promise<void> {
  const { isOver, resetMs } = await rates.take(address);
  if (isOver)
    throw new ServiceError('RATE_LIMITED', 'Too many requests came from this address; try again later.', {
      retryAfterMs: resetMs,
    });
}
