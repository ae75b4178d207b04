import { requireScope } from '../../../core/access/authenticate.js';
import type { Caller } from '../../../core/access/credential.js';
import type { Context } from '../../../core/context.js';
import type { Json } from '../../../core/json.js';
import { pointsOf } from '../../rate-limit.js';
import {
  authenticateRequest,
  type AuthenticatingParts,
  type CredentialRates,
  type CredentialWatch,
  requireOwnApp,
} from '../host/authenticate.js';
import type { HttpContext } from '../host/http-context.js';
import { declaredBytes, readBody } from '../host/read-body.js';
import { headerText, readCredential } from '../host/request.js';
import type { HttpHandler, HttpShared } from '../host/server.js';
import { Disconnect, WaitEnd, WatchedWait } from '../host/wait.js';
import type { ClientRequests } from './client-requests.js';
import { asMessage, asResponse, type Message, objectOf, sessionIdFor, StreamWatch } from './exchange.js';
import { requireKnownOrigin } from './known-origin.js';
import type { HandleMessage } from './message-handler.js';
import { TASK_METHODS } from './tasks.js';
import { findTool } from './tools.js';

export interface McpServingParts extends AuthenticatingParts, Pick<HttpShared, 'isStopping' | 'onStopping'> {
  readonly credentialWatch: CredentialWatch;
  readonly context: Context;
  readonly rates: CredentialRates;
  readonly bodyTimeoutMs: number;
  readonly publicUrl: () => string;
  readonly requests: ClientRequests;
  readonly handle: HandleMessage;
}

/** The largest message: one that brings small pictures. */
export const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;
const MAX_PIECES = 4_096;
const STALE_AFTER_MS = 1_000;
const LISTEN = 'subscriptions/listen';

/** The checks of every message in order, of which the first that fails is reported, and then the protocol. */
export function serveMcp(parts: McpServingParts): HttpHandler {
  return async (ctx) => {
    const { req, res, state } = ctx;
    state.resourceMetadata = parts.resourceMetadata;
    requireKnownOrigin(req, parts.publicUrl(), parts.addresses);
    const caller = await authenticateRequest(ctx, parts, 'mcp');
    state.caller = caller;
    const message = asMessage(await readMessage(ctx, caller, parts));
    const response = asResponse(message);
    if (response !== undefined) {
      parts.requests.take(caller.credentialId, response);
      ctx.status = 202;
      return;
    }
    await requireMayCall(ctx, caller, message, parts);
    if (message.method === 'initialize') {
      const sessionId = sessionIdFor(message.params['capabilities'], parts.context.ids.uuid());
      if (sessionId !== undefined) res.setHeader('Mcp-Session-Id', sessionId);
    }
    res.setHeader('Cache-Control', 'no-store');
    const call = new Disconnect(res);
    const waits = new WatchedWait(new WaitEnd(call, parts), (tell) =>
      parts.credentialWatch.follow(readCredential(req) ?? '', tell),
    );
    const requireAllowed = async (): Promise<void> => void (await authenticateRequest(ctx, parts, 'mcp'));
    const context = { ...parts.context, call };
    const sessionId = headerText(req, 'mcp-session-id');
    const exchange = { context, waits, caller, sessionId, requireAllowed, state };
    const watch = message.method === LISTEN ? new StreamWatch(exchange, res) : undefined;
    try {
      // The library answers by itself, unless it cannot even begin.
      ctx.respond = false;
      await parts.handle(req, res, message.body, exchange);
    } finally {
      await watch?.stop();
    }
  };
}

/** Every message counts among the reads of the credential, by its size. */
async function readMessage(ctx: HttpContext, caller: Caller, parts: McpServingParts): Promise<Json> {
  const { req, res } = ctx;
  const { context, rates, bodyTimeoutMs } = parts;
  const authenticatedAt = context.clock.now();
  const declared = declaredBytes(req);
  await rates.reads?.take(caller.credentialId, res, pointsOf(Math.min(declared ?? 0, MAX_MESSAGE_BYTES)));
  requireOwnApp(req, caller);
  const body = await readBody(req, {
    timeoutMs: bodyTimeoutMs,
    maxBytes: MAX_MESSAGE_BYTES,
    maxPieces: MAX_PIECES,
    required: true,
    arrived: async (byteSize) => {
      if (declared === undefined) await rates.reads?.take(caller.credentialId, res, pointsOf(byteSize), pointsOf(0));
    },
  });
  // A body may take long to arrive, and the credential may have been revoked meanwhile.
  if (context.clock.now() - authenticatedAt > STALE_AFTER_MS) await authenticateRequest(ctx, parts, 'mcp');
  return body;
}

/** A scope that is missing is refused before the protocol answers, so that clients can ask for it. */
async function requireMayCall(
  { res }: HttpContext,
  caller: Caller,
  { method, params }: Message,
  { rates }: McpServingParts,
): Promise<void> {
  const tool = method === 'tools/call' ? findTool(params['name']) : undefined;
  const task = method === undefined ? undefined : TASK_METHODS.get(method);
  const scopes = task ? [task.scope] : (tool?.scopes(objectOf(params['arguments'])) ?? []);
  for (const scope of scopes) requireScope(caller, scope);
  if ((task ?? tool)?.rate === 'writes') await rates.writes?.take(caller.credentialId, res, pointsOf(0));
}
