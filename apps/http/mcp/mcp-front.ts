import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Logger } from 'pino';
import { requireScope } from '../../../core/access/authenticate.js';
import { type Caller, DEFAULT_SCOPES } from '../../../core/access/credential.js';
import { ServiceError } from '../../../core/errors.js';
import { ownOrigins } from '../../config/network-address.js';
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
import { allowOrigin, answerPreflight } from '../host/cors.js';
import type { HttpContext } from '../host/http-context.js';
import { loadOnce } from '../host/pages.js';
import { declaredBytes, headerText, readBody } from '../host/request.js';
import { sendText } from '../host/send.js';
import {
  createRouter,
  type HttpFront,
  type HttpHandler,
  type HttpRoute,
  type HttpShared,
  type RoutedContext,
} from '../host/server.js';
import { Disconnect, ServedWait } from '../host/wait.js';
import { RequestRates } from '../pages/browser-sessions.js';
import { discoveryRoutes, MCP_PATH } from './discovery.js';
import { ClientRequests } from './elicitation.js';
import { asMessage, asResponse, type Exchange, type Message, objectOf, sessionIdFor, watchStream } from './exchange.js';
import type { HandleMessage } from './mcp-server.js';
import { JSON_MEDIA_TYPE, NotAcceptable, requireSomeType, type TakenTypes, takenTypes } from './response-type.js';
import { TASK_METHODS } from './tasks.js';
import { findTool } from './tools.js';

export interface McpOptions
  extends
    Pick<CredentialAccessParts, 'authenticator' | 'requireStores'>,
    Omit<McpServingParts, keyof HttpShared | 'access' | 'requests' | 'handle' | 'publicRates'> {
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
    const publicRates = new RequestRates(shared.addresses);
    const documents = discoveryRoutes(options.publicUrl, (ctx) => publicRates.takeRequest(ctx));
    return [
      createRouter([...documents, ...mcpRoutes({ ...options, ...shared, access, requests, handle, publicRates })]),
    ];
  };
}

export interface McpServingParts
  extends Pick<CredentialAccessParts, 'resourceMetadata'>, Pick<HttpShared, 'addresses' | 'isStopping' | 'onStopping'> {
  readonly access: Access;
  readonly context: Exchange['context'];
  readonly rates: CredentialRates;
  /** The rates of requests for which nobody has to be known. */
  readonly publicRates: Pick<RequestRates, 'takeRequest'>;
  readonly bodyTimeoutMs: number;
  readonly publicUrl: () => string;
  /** Origins whose pages may send messages, as browsers write them; none when absent. */
  readonly allowedOrigins?: readonly string[];
  readonly requests: ClientRequests;
  readonly handle: HandleMessage;
}

/** The address of the server; people paste it with a slash at the end too, and a redirect would lose the message. */
const PATHS = [MCP_PATH, `${MCP_PATH}/`];

export function mcpRoutes(parts: McpServingParts): readonly HttpRoute[] {
  const methods = [
    { method: 'POST', serve: serveMcp(parts) },
    { method: 'OPTIONS', serve: servePreflight(parts) },
    { method: 'any', serve: refuseMethod(parts) },
  ] as const;
  return PATHS.flatMap((path) => methods.map((one) => ({ ...one, path })));
}

const METHODS = 'OPTIONS, POST';
/** Those of which clients in a page ask. */
const ASKED_METHODS = ['GET', 'POST', 'DELETE'];

/** Headers of responses that programs in a page read. */
const EXPOSED = [
  'WWW-Authenticate',
  'Mcp-Session-Id',
  'Mcp-Protocol-Version',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'X-Request-Id',
];

function servePreflight(parts: McpServingParts): HttpHandler {
  return async (ctx) => {
    ctx.state.route = MCP_PATH;
    requireKnownOrigin(ctx.req, parts);
    const { origin } = ctx.req.headers;
    if (origin !== undefined) return answerPreflight(ctx, origin, ASKED_METHODS);
    ctx.set('Allow', METHODS);
    ctx.status = 204;
  };
}

/** Clients of the revisions of 2025 try to get a stream and to delete a session, and read in a page too that there is none. */
function refuseMethod(parts: McpServingParts): HttpHandler {
  return async (ctx) => {
    ctx.state.route = MCP_PATH;
    requireKnownOrigin(ctx.req, parts);
    const { origin } = ctx.req.headers;
    if (origin !== undefined) allowOrigin(ctx.res, origin, EXPOSED);
    ctx.set('Allow', METHODS);
    throw new ServiceError('METHOD_NOT_ALLOWED', `This route takes ${METHODS}.`);
  };
}

/** The largest message: one that brings small pictures. */
export const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;
const MAX_PIECES = 4_096;
const LISTEN = 'subscriptions/listen';

/** The checks of every message in order, of which the first that fails is reported, and then the protocol. */
function serveMcp(parts: McpServingParts): HttpHandler {
  return async (ctx) => {
    const { req, res, state } = ctx;
    state.route = MCP_PATH;
    state.suggestedScopes = DEFAULT_SCOPES;
    if (parts.resourceMetadata) state.resourceMetadata = parts.resourceMetadata;
    requireKnownOrigin(req, parts);
    if (req.headers.origin !== undefined) allowOrigin(res, req.headers.origin, EXPOSED);
    const takes = takenTypes(ctx);
    try {
      await serveMessage(ctx, takes, parts);
    } catch (error) {
      if (!(error instanceof NotAcceptable)) throw error;
      await sendText(ctx, error.status, { mediaType: JSON_MEDIA_TYPE, text: error.text });
    }
  };
}

async function serveMessage(ctx: RoutedContext, takes: TakenTypes, parts: McpServingParts): Promise<void> {
  const { req, res } = ctx;
  const discovery = await readDiscovery(ctx, takes, parts);
  if (discovery !== undefined) {
    ctx.respond = false;
    return parts.handle(req, res, { body: discovery.body, takes });
  }
  const { caller, body } = await readMessage(ctx, takes, parts);
  const message = asMessage(body);
  const response = asResponse(message);
  if (response === undefined) return serveCall(ctx, { caller, message, takes }, parts);
  parts.requests.take(caller.credentialId, response);
  // Without a body the framework would send the name of the status.
  ctx.body = null;
  ctx.status = 202;
}

/** A message of a sender who is known. */
interface SentMessage {
  readonly caller: Caller;
  readonly message: Message;
  readonly takes: TakenTypes;
}

async function serveCall(ctx: RoutedContext, sent: SentMessage, parts: McpServingParts): Promise<void> {
  const { req, res, state } = ctx;
  const { caller, message, takes } = sent;
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
    await parts.handle(req, res, { body: message.body, takes, exchange });
  } finally {
    await watch?.stop();
  }
}

const DISCOVER = 'server/discover';
const MAX_DISCOVERY_BYTES = 16 * 1024;
const MAX_UNNAMED_BYTES = 4 * 1024;

/**
 * The message, if it is a discovery, for which nobody has to be known: a credential that comes with it is not looked at.
 * It counts for the address of its client. In the newest revision a header says what a message is.
 *
 * Throws RATE_LIMITED, NotAcceptable, the errors of reading a body, and BODY_INVALID if header and body name different methods.
 */
async function readDiscovery(
  ctx: RoutedContext,
  takes: TakenTypes,
  parts: McpServingParts,
): Promise<Message | undefined> {
  const named = headerText(ctx.req, 'mcp-method')?.trim();
  if (named === undefined) return readUnnamedDiscovery(ctx, takes, parts);
  if (named !== DISCOVER) return undefined;
  try {
    await parts.publicRates.takeRequest(ctx);
  } catch (error) {
    if (ctx.req.headers.authorization === undefined) throw error;
    // A client behind a busy address may still be known by its credential.
    return undefined;
  }
  requireSomeType(takes);
  const message = await readPublicMessage(ctx, parts, MAX_DISCOVERY_BYTES);
  if (message.method !== DISCOVER)
    throw new ServiceError('BODY_INVALID', `The header Mcp-Method names ${DISCOVER}, and the body another method.`);
  return message;
}

/**
 * The same for a message without that header: the protocol refuses it for the header, and not for a credential. Only a
 * short body is read that comes without a credential and at once; whatever else it is will be refused with 401.
 */
async function readUnnamedDiscovery(
  ctx: RoutedContext,
  takes: TakenTypes,
  parts: McpServingParts,
): Promise<Message | undefined> {
  const { headers } = ctx.req;
  if (!takes.json && !takes.stream) return undefined;
  if (headers.authorization !== undefined || headers.expect !== undefined) return undefined;
  if ((declaredBytes(ctx.req) ?? Infinity) > MAX_UNNAMED_BYTES) return undefined;
  const message = await readPublicMessage(ctx, parts, MAX_UNNAMED_BYTES).catch(() => undefined);
  if (message?.method !== DISCOVER) return undefined;
  await parts.publicRates.takeRequest(ctx);
  return message;
}

async function readPublicMessage(
  { req }: RoutedContext,
  { bodyTimeoutMs: timeoutMs }: McpServingParts,
  maxBytes: number,
): Promise<Message> {
  return asMessage(await readBody(req, { timeoutMs, maxBytes, required: true }));
}

/**
 * The sender and the body of a message, which counts among the reads of its credential, by its size. Throws the refusal of
 * the sender, NotAcceptable, and the errors of reading a body.
 */
async function readMessage(
  ctx: RoutedContext,
  takes: TakenTypes,
  { context, access, rates, bodyTimeoutMs }: McpServingParts,
) {
  const rules = { access, clock: context.clock, rateLimit: rates.reads, maxBodyBytes: MAX_MESSAGE_BYTES };
  const admission = await admitRequest(ctx, rules);
  const { caller } = admission;
  requireOwnApp(ctx.req, caller);
  requireSomeType(takes);
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
 * Refuses what a page of another origin makes a browser send, unless the operator allows that origin, and what a browser
 * sends to a name that was bound to this machine's address after its page had loaded. A program sends no Origin. A
 * trusted proxy may name this process as it likes. Throws ORIGIN_REFUSED.
 */
function requireKnownOrigin(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  { publicUrl, addresses, allowedOrigins = [] }: Pick<McpServingParts, 'publicUrl' | 'addresses' | 'allowedOrigins'>,
): void {
  const own = new URL(publicUrl());
  const { origin, host = '' } = headers;
  if (origin !== undefined && !ownOrigins(own.href).includes(origin) && !allowedOrigins.includes(origin))
    throw new ServiceError(
      'ORIGIN_REFUSED',
      `The MCP server is for programs, and for pages of ${own.origin} and of origins that the operator lists in mcp.allowed_origins.`,
    );
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
