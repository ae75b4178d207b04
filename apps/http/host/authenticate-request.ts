import { isCredentialShaped, type Authenticator } from '../../../core/access/authenticate.js';
import type { Audience, Caller } from '../../../core/access/credential.js';
import { ServiceError } from '../../../core/errors.js';
import type { HttpContext } from './http-context.js';
import { readCredential } from './request-headers.js';
import type { HttpShared } from './server.js';

export interface AuthenticatingParts extends Pick<HttpShared, 'addresses' | 'refusals'> {
  readonly authenticator: Authenticator;
  /** Throws what refuses a request that the stores could not answer anyway, if they would be asked at all. */
  readonly requireStores: (wouldAsk: () => boolean) => void;
}

/** Who sends the request. What fails is counted for where it came from; what succeeds never is. */
export async function authenticateRequest(
  ctx: HttpContext,
  parts: AuthenticatingParts,
  audience: Audience,
): Promise<Caller> {
  const { req, state } = ctx;
  const { authenticator, addresses, refusals } = parts;
  try {
    const credential = readCredential(req);
    requireStores(ctx, credential, parts);
    return await authenticator.authenticate(credential, audience);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'SERVICE_UNAVAILABLE') throw error;
    state.address = addresses.ofRequest(req);
    throw refusals.countFailure(state.address, error);
  }
}

/**
 * A malformed key is refused without the stores, whether they are available or not. The log lines of the outage count
 * what is refused for it: a line for each would let unauthenticated clients fill the log.
 */
function requireStores({ state }: HttpContext, credential: string | undefined, parts: AuthenticatingParts): void {
  try {
    parts.requireStores(() => isCredentialShaped(credential ?? ''));
  } catch (error) {
    state.isLeftOut = true;
    throw error;
  }
}
