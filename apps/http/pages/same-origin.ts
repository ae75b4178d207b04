import { ServiceError } from '../../../core/errors.js';
import type { HttpContext } from '../host/http-context.js';

/**
 * Refuses a request that changes something unless a page of this server made the browser send it: browsers send cookies
 * with requests of other pages too. Throws ORIGIN_REFUSED, also for a client that names no origin at all.
 */
export function requireSameOrigin({ req }: Pick<HttpContext, 'req'>, publicUrl: string): void {
  const { origin, 'sec-fetch-site': site } = req.headers;
  const own = new URL(publicUrl).origin;
  if (origin === undefined ? site !== 'same-origin' : origin !== own)
    throw new ServiceError('ORIGIN_REFUSED', `This can be done from a page of ${own} only.`);
}
