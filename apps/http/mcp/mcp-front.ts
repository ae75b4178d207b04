import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Logger } from 'pino';
import { requireScope } from '../../../core/access/authenticate.js';
import type { Caller } from '../../../core/access/credential.js';
import { ServiceError } from '../../../core/errors.js';
import { pointsOf } from '../../rate-limit.js';
import {
  type Access,
  admitRequest,
  CredentialAccess,
  type CredentialAccessParts,
  type CredentialRates,
  readAdmittedBody,
  requireOwnApp,
} from '../host/authenticate.js';
import type { ClientAddresses } from '../host/client-addresses.js';
import type { HttpContext } from '../host/http-context.js';
import { loadOnce } from '../host/pages.js';
import { headerText, readBody } from '../host/request.js';
import { createRouter, type HttpFront, type HttpHandler, type HttpShared, type RoutedContext } from '../host/server.js';
import { Disconnect, ServedWait } from '../host/wait.js';
import { RequestRates } from '../pages/browser-sessions.js';
import { discoveryRoutes, MCP_PATH } from './discovery.js';
import { ClientRequests } from './elicitation.js';
import { asMessage, asResponse, type Exchange, type Message, objectOf, sessionIdFor, watchStream } from './exchange.js';
import type { HandleMessage } from './mcp-server.js';
import { TASK_METHODS } from './tasks.js';
import { findTool } from './tools.js';

export interface McpOptions
  extends
    Pick<CredentialAccessParts, 'authenticator' | 'requireStores'>,
    Omit<McpServingParts, keyof HttpShared | 'access' | 'requests' | 'handle'> {
  readonly logger: Logger;
  /** Credits that a call may spend without being confirmed by a person. */
  readonly confirmAboveCredits: number;
}

/** The MCP server, and the public documents by which it is found. */
export function mcp(options: McpOptions): HttpFront {
  return (shared) => {
    const requests = new ClientRequests(options.context);
    // The library takes a fifth of a second to load, so the first message loads it.
    const protocol = loadOnce(async () => (await import('./mcp-server.js')).mcpProtocol({ ...options, requests }));
    const handle: HandleMessage = async (...message) => (await protocol())(...message);
    const access = new CredentialAccess({ ...options, ...shared, audience: 'mcp' });
    const serve = serveMcp({ ...options, ...shared, access, requests, handle });
    const rates = new RequestRates(shared.addresses);
    const documents = discoveryRoutes(options.publicUrl, (ctx) => rates.takeRequest(ctx));
    return [createRouter([...documents, { method: 'POST', path: MCP_PATH, serve }])];
  };
}

export interface McpServingParts
  extends Pick<CredentialAccessParts, 'resourceMetadata'>, Pick<HttpShared, 'addresses' | 'isStopping' | 'onStopping'> {
  readonly access: Access;
  readonly context: Exchange['context'];
  readonly rates: CredentialRates;
  readonly bodyTimeoutMs: number;
  readonly publicUrl: () => string;
  readonly requests: ClientRequests;
  readonly handle: HandleMessage;
}

/** The largest message: one that brings small pictures. */
export const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;
const MAX_PIECES = 4_096;
const LISTEN = 'subscriptions/listen';

/** The checks of every message in order, of which the first that fails is reported, and then the protocol. */
export function serveMcp(parts: McpServingParts): HttpHandler {
  return async (ctx) => {
    const { req, res, state } = ctx;
    if (parts.resourceMetadata) state.resourceMetadata = parts.resourceMetadata;
    requireKnownOrigin(req, parts.publicUrl(), parts.addresses);
    const { caller, body } = await readMessage(ctx, parts);
    const message = asMessage(body);
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
    const waits = new ServedWait(call, parts, (onRefused) => parts.access.follow(ctx, onRefused));
    const requireAllowed = async (): Promise<void> => void (await parts.access.authenticate(ctx));
    const context = { ...parts.context, call };
    const sessionId = headerText(req, 'mcp-session-id');
    const exchange = { context, waits, caller, sessionId, requireAllowed, state };
    const watch = message.method === LISTEN ? watchStream(exchange, res) : undefined;
    try {
      // The library responds by itself, unless it cannot even start.
      ctx.respond = false;
      await parts.handle(req, res, message.body, exchange);
    } finally {
      await watch?.stop();
    }
  };
}

/** The sender and the body of a message, which counts among the reads of its credential, by its size. */
async function readMessage(ctx: RoutedContext, { context, access, rates, bodyTimeoutMs }: McpServingParts) {
  const rules = { access, clock: context.clock, rateLimit: rates.reads, maxBodyBytes: MAX_MESSAGE_BYTES };
  const admission = await admitRequest(ctx, rules);
  const { caller } = admission;
  requireOwnApp(ctx.req, caller);
  const limits = { timeoutMs: bodyTimeoutMs, maxBytes: MAX_MESSAGE_BYTES, maxPieces: MAX_PIECES };
  const body = await readAdmittedBody(ctx, admission, (arrived) =>
    readBody(ctx.req, { ...limits, required: true, arrived }),
  );
  return { caller, body };
}

/** A missing scope is refused before the protocol responds, so that clients can request it. */
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

/**
 * Refuses what a page of another origin makes a browser send, and what a browser sends to a name that was bound to this
 * machine's address after its page had loaded. A program sends no Origin. A trusted proxy may name this process as it
 * likes. Throws ORIGIN_REFUSED.
 */
function requireKnownOrigin(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  publicUrl: string,
  addresses: Pick<ClientAddresses, 'isProxy'>,
): void {
  const own = new URL(publicUrl);
  const { origin, host = '' } = headers;
  if (origin !== undefined && origin !== own.origin)
    throw new ServiceError('ORIGIN_REFUSED', `The MCP server is for programs, and for pages of ${own.origin} only.`);
  if (addresses.isProxy(socket.remoteAddress) || isOwnHost(host, own.hostname)) return;
  throw new ServiceError(
    'ORIGIN_REFUSED',
    'The MCP server does not go by this name; use its public address, which the operator sets with rest.public_url.',
  );
}

/** An address in place of a name cannot have been bound to anything else. */
function isOwnHost(host: string, own: string): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  return hostname === own || hostname === 'localhost' || isIP(hostname.replaceAll(/[[\]]/g, '')) > 0;
}
