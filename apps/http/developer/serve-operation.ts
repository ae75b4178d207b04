import { isOwnApp, requireScope } from '../../../core/access/authenticate.js';
import type { Context } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import { readIdempotencyKey } from '../../../core/idempotency/key.js';
import { loggedIds } from '../../logging/logged-fields.js';
import { pointsOf } from '../../requests/rate-limit.js';
import type { Access } from './access.js';
import type { CredentialRates } from '../host/credential-rates.js';
import { MAX_BODY_BYTES } from '../host/limits.js';
import { answerOperation } from './answer-operation.js';
import type { Call, ProtectedRoute, PublicRoute } from './operation.js';
import { readQuery } from '../host/read-query.js';
import { readNoBody } from '../host/no-body.js';
import { declaredBytes } from '../host/read-bytes.js';
import { readBody } from '../host/read-body.js';
import { hasCurrent, headerText, headerValues } from '../host/request-headers.js';
import type { HttpHandler, RoutedContext } from '../host/routing.js';
import { sendAnswer } from '../host/send.js';
import type { HttpShared } from '../host/server.js';

export interface ServingParts extends Pick<HttpShared, 'isStopping' | 'onStopping'> {
  readonly context: Context;
  readonly access: Access;
  readonly rates: CredentialRates;
  readonly bodyTimeoutMs: number;
}

const STALE_AFTER_MS = 1_000;

/** The checks of a protected route in order, of which the first that fails is reported, and then its operation. */
export function serveProtected(route: ProtectedRoute, parts: ServingParts): HttpHandler {
  const { context, access, rates, bodyTimeoutMs } = parts;
  const { operation, scope } = route;
  const rateLimit = rates[route.rate];
  const check = async (ctx: RoutedContext): Promise<Call> => {
    const { req, res, state, params } = ctx;
    state.ids = loggedIds({ generationId: params['generation_id'], uploadId: params['upload_id'] });
    const caller = await access.authenticate(ctx);
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
    if (context.clock.now() - authenticatedAt > STALE_AFTER_MS) await access.authenticate(ctx);
    const webhookUrl = operation.takesWebhookUrl === true ? headerText(req, 'darkroom-webhook-url') : undefined;
    return { context, caller, params, query, idempotencyKey, webhookUrl, body };
  };
  // What the checks remember is of no use to a request that then waits.
  return (ctx) => check(ctx).then((call) => answerOperation(ctx, operation, call, parts));
}

export function servePublic({ operation }: PublicRoute, { context, bodyTimeoutMs }: ServingParts): HttpHandler {
  return async (ctx) => {
    await readNoBody(ctx.req, { timeoutMs: bodyTimeoutMs });
    await sendAnswer(ctx, operation.status, await operation.answer(context, ctx.params));
    if (!hasCurrent(ctx.req, ctx.res.getHeader('ETag'))) return;
    ctx.state.text = undefined;
    ctx.status = 304;
  };
}
