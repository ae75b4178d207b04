import { isOwnApp, requireScope } from '../../../core/access/authenticate.js';
import type { Caller } from '../../../core/access/credential.js';
import type { Context } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import { readIdempotencyKey } from '../../../core/idempotency/claim.js';
import { loggedIds } from '../../logging/logged-fields.js';
import { pointsOf } from '../../rate-limit.js';
import type { Answer, NoContent, StreamedAnswer } from '../host/answer.js';
import {
  authenticateRequest,
  type AuthenticatingParts,
  type CredentialRates,
  type CredentialWatch,
} from '../host/authenticate.js';
import { type HttpContext, MAX_BODY_BYTES } from '../host/http-context.js';
import { declaredBytes, readBody, readNoBody } from '../host/read-body.js';
import {
  hasCurrent,
  headerText,
  headerValues,
  preferredWait,
  prefersCsv,
  readCredential,
  readQuery,
} from '../host/request.js';
import type { HttpHandler, RoutedContext } from '../host/routing.js';
import { sendAnswer } from '../host/send.js';
import type { HttpShared } from '../host/server.js';
import { RequestWait } from '../host/wait.js';
import { BEAT_MS } from './generations.js';
import type { Call, ProtectedOperation, ProtectedRoute, PublicRoute } from './operation.js';

/** How the requests of the endpoints say who sends them. */
export interface Access {
  /** Who sends the request. Throws what refuses it. */
  authenticate(ctx: RoutedContext): Promise<Caller>;
  /** Tells, until the returned function is called, when the sender would be refused now. */
  follow(ctx: RoutedContext, tell: () => void): () => void;
}

export interface CredentialAccessParts extends AuthenticatingParts {
  readonly credentialWatch: CredentialWatch;
  /** The address of the API's metadata as a protected resource; undefined where no tokens are given out. */
  readonly resourceMetadata: () => string | undefined;
}

/** By an API key or an access token. */
export function credentialAccess(parts: CredentialAccessParts): Access {
  return {
    authenticate: (ctx) => {
      const metadata = parts.resourceMetadata();
      if (metadata !== undefined) ctx.state.resourceMetadata = metadata;
      return authenticateRequest(ctx, parts, 'rest');
    },
    follow: ({ req }, tell) => parts.credentialWatch.follow(readCredential(req) ?? '', tell),
  };
}

interface AnsweringParts extends Pick<HttpShared, 'isStopping' | 'onStopping'> {
  readonly access: Access;
}

/**
 * Answers a request that passed its checks. An operation that can wait does so where the client prefers it, and one that
 * streams events goes on for as long as the client listens and its credential is valid.
 */
export async function answerOperation(
  ctx: RoutedContext,
  operation: ProtectedOperation,
  call: Call,
  parts: AnsweringParts,
): Promise<void> {
  const { req, res } = ctx;
  const seconds = operation.canWait === true ? preferredWait(req) : undefined;
  if (seconds === undefined && operation.canFollow !== true) {
    if (operation.hasCsv === true) res.setHeader('Vary', 'Accept');
    const answer = await operation.answer(operation.hasCsv === true ? { ...call, wantsCsv: prefersCsv(req) } : call);
    noteCreated(ctx, answer);
    return sendAnswer(ctx, operation.status, answer);
  }
  const lasting = answerLasting(ctx, operation, call, seconds, parts);
  if (seconds === undefined) return lasting;
  ctx.state.later = lasting;
}

/** The answer to a request that waits so many seconds, or that streams events for as long as its client listens. */
async function answerLasting(
  ctx: RoutedContext,
  operation: ProtectedOperation,
  call: Call,
  seconds: number | undefined,
  parts: AnsweringParts,
): Promise<void> {
  const { access } = parts;
  const { req, res } = ctx;
  const until = new RequestWait(ctx, parts, (tell) => access.follow(ctx, tell));
  try {
    const answer = await operation.answer({
      ...call,
      ...(seconds === undefined
        ? { following: { lastEventId: headerText(req, 'last-event-id'), until } }
        : { wait: { waitMs: seconds * 1_000, until } }),
    });
    noteCreated(ctx, answer);
    // It may have waited long, and the credential have been revoked meanwhile.
    await access.authenticate(ctx);
    if (seconds !== undefined) res.setHeader('Preference-Applied', `wait=${seconds}`);
    else if ('stream' in answer) until.streams(BEAT_MS);
    await sendAnswer(ctx, operation.status, answer);
  } finally {
    until.end();
  }
}

function noteCreated({ state }: HttpContext, answer: Answer | StreamedAnswer | NoContent): void {
  if (!('createdId' in answer)) return;
  state.hasCreated = true;
  state.ids = loggedIds({ generationId: answer.createdId });
}

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
