import { isCredentialShaped, isOwnApp, requireScope, type Authenticator } from '../../../core/access/authenticate.js';
import type { Caller } from '../../../core/access/credential.js';
import type { Context } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import { readIdempotencyKey } from '../../../core/idempotency/key.js';
import { loggedIds } from '../../logging/logged-fields.js';
import { pointsOf } from '../../requests/rate-limit.js';
import { MAX_BODY_BYTES } from '../host/limits.js';
import type { ProtectedRoute, PublicRoute } from './operation.js';
import type { RateLimits } from './shown-rate-limit.js';
import { readQuery } from '../host/read-query.js';
import { readNoBody } from '../host/no-body.js';
import { declaredBytes } from '../host/read-bytes.js';
import { readBody } from '../host/read-body.js';
import { hasCurrent, headerText, headerValues, readCredential } from '../host/request-headers.js';
import type { HttpContext } from '../host/http-context.js';
import type { HttpHandler } from '../host/routing.js';
import type { HttpShared } from '../host/server.js';
import { sendAnswer } from '../host/send.js';

export interface ServingParts extends Pick<HttpShared, 'addresses' | 'refusals'> {
  readonly context: Context;
  readonly authenticator: Authenticator;
  readonly rateLimits: RateLimits;
  readonly bodyTimeoutMs: number;
  /** The address of the API's metadata as a protected resource; undefined where no tokens are given out. */
  readonly resourceMetadata: () => string | undefined;
  /** Throws what refuses a request that the stores could not answer anyway, if they would be asked at all. */
  readonly requireStores: (wouldAsk: () => boolean) => void;
}

const STALE_AFTER_MS = 1_000;

/** The checks of a protected route in order, of which the first that fails is reported, and then its operation. */
export function serveProtected(route: ProtectedRoute, parts: ServingParts): HttpHandler {
  const { context, rateLimits, bodyTimeoutMs } = parts;
  const { operation, scope } = route;
  const rateLimit = rateLimits[route.rate];
  return async (ctx) => {
    const { req, res, state, params } = ctx;
    const metadata = parts.resourceMetadata();
    if (metadata !== undefined) state.resourceMetadata = metadata;
    state.ids = loggedIds({ generationId: params['generation_id'], uploadId: params['upload_id'] });
    const caller = await authenticate(ctx, parts);
    state.caller = caller;
    const authenticatedAt = context.clock.now();
    const declared = declaredBytes(req);
    if (rateLimit) await rateLimit.take(caller.credentialId, res, pointsOf(Math.min(declared ?? 0, MAX_BODY_BYTES)));
    requireScope(caller, scope);
    if (!isOwnApp(caller, headerText(req, 'x-app-id')))
      throw new ServiceError('DEVELOPER_SCOPE_INSUFFICIENT', "X-App-Id must be the credential's own App.");
    const idempotencyKey = route.needsKey === true ? readIdempotencyKey(headerValues(req, 'idempotency-key')) : '';
    const query = operation.query === undefined ? {} : readQuery(state.target.query, Object.keys(operation.query));
    const arrived = async (byteSize: number): Promise<void> => {
      if (rateLimit && declared === undefined)
        await rateLimit.take(caller.credentialId, res, pointsOf(byteSize), pointsOf(0));
    };
    const body = operation.body
      ? await readBody(req, {
          timeoutMs: bodyTimeoutMs,
          arrived,
          maxBytes: MAX_BODY_BYTES,
          required: operation.body.required,
        })
      : await readNoBody(req, { timeoutMs: bodyTimeoutMs, arrived });
    // A body may take long to arrive, and the credential may have been revoked meanwhile.
    if (context.clock.now() - authenticatedAt > STALE_AFTER_MS) await authenticate(ctx, parts);
    const answer = await operation.answer({ context, caller, params, query, idempotencyKey, body });
    if ('createdId' in answer) {
      state.hasCreated = true;
      state.ids = loggedIds({ generationId: answer.createdId });
    }
    await sendAnswer(ctx, operation.status, answer);
  };
}

/** Who sends the request. What fails is counted for where it came from; what succeeds never is. */
async function authenticate(ctx: HttpContext, parts: ServingParts): Promise<Caller> {
  const { req, state } = ctx;
  const { authenticator, addresses, refusals } = parts;
  try {
    const credential = readCredential(req);
    requireStores(ctx, credential, parts);
    return await authenticator.authenticate(credential);
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
function requireStores({ state }: HttpContext, credential: string | undefined, parts: ServingParts): void {
  try {
    parts.requireStores(() => isCredentialShaped(credential ?? ''));
  } catch (error) {
    state.isLeftOut = true;
    throw error;
  }
}

export function servePublic({ operation }: PublicRoute, { context, bodyTimeoutMs }: ServingParts): HttpHandler {
  return async (ctx) => {
    await readNoBody(ctx.req, { timeoutMs: bodyTimeoutMs });
    await sendAnswer(ctx, operation.status, await operation.answer(context));
    if (!hasCurrent(ctx.req, ctx.res.getHeader('ETag'))) return;
    ctx.state.text = undefined;
    ctx.status = 304;
  };
}
