import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node';
import {
  type AuthInfo,
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  fromJsonSchema,
  type McpRequestContext,
  type McpServer,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { CallOver } from '../../../core/cancellation.js';
import { type ErrorCode, ServiceError } from '../../../core/errors.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { messageOf } from '../../service-errors.js';
import { notedRefusal } from '../host/errors.js';
import {
  canShowForms,
  type ClientRequests,
  type Confirm,
  confirmByRepetition,
  confirmOnStream,
  Progress,
} from './elicitation.js';
import { IDENTITY, REVISIONS } from './discovery.js';
import { asksPeople, type Exchange, objectOf } from './exchange.js';
import { inTakenType, type TakenTypes } from './response-type.js';
import { takesTasks, TASK_METHODS, TASKS_EXTENSION } from './tasks.js';
import { findTool, listed, refusalResult, type Tool, type ToolAnswer, type ToolCall, TOOLS } from './tools.js';

export interface McpServerOptions {
  readonly logger: Logger;
  readonly requests: ClientRequests;
  /** Credits that a call may spend without being confirmed. */
  readonly confirmAboveCredits: number;
}

/** The protocol for the messages of one process. */
export function mcpProtocol(options: McpServerOptions): HandleMessage {
  return messageHandler(options.logger, (request, message) => serverFor(request, message, options));
}

/** One message that was read and checked. */
export interface ServedMessage {
  readonly body: JsonObject;
  readonly takes: TakenTypes;
  /** Absent for a discovery, whose sender need not be known. */
  readonly exchange?: Exchange;
}

/** Responds to one message. */
export type HandleMessage = (req: IncomingMessage, res: ServerResponse, message: ServedMessage) => Promise<void>;

/** Makes the server of one message. */
export type ServerFactory = (request: McpRequestContext, message: ServedMessage) => Server | McpServer;

/** Streams that clients of this process listen to; no event is sent on them. */
const MAX_SUBSCRIPTIONS = 100;

/** The protocol, by its library. A server lives for one message: there is nothing to keep between two. */
export function messageHandler(logger: Logger, makeServer: ServerFactory): HandleMessage {
  const onerror = (error: Error): void => logger.debug({ err: error }, 'MCP message refused');
  const handler = createMcpHandler(
    (request) => makeServer(request, request.authInfo?.extra?.['message'] as ServedMessage),
    { onerror, maxSubscriptions: MAX_SUBSCRIPTIONS },
  );
  return async (req, res, message) => {
    const { body, takes, exchange } = message;
    const { credentialId, scopes } = exchange?.caller ?? NOBODY;
    const authInfo: AuthInfo = { token: '', clientId: credentialId, scopes: [...scopes], extra: { message } };
    const fetch: typeof handler.fetch = async (request, given) => {
      const response = await inTakenType(takes, body, request, (asked) => handler.fetch(asked, { ...given, authInfo }));
      // Without a length, a response to a notification would be sent in chunks, of which there are none.
      if (response.body === null && response.status !== 204) response.headers.set('Content-Length', '0');
      return response;
    };
    await toNodeHandler({ fetch }, { onerror })(req as NodeIncomingMessageLike, res, body);
  };
}

const NOBODY = { credentialId: '', scopes: [] } as const;

const LIST_TTL_MS = 300_000;

const INSTRUCTIONS =
  'Makes images and videos from prompts, paid in credits. Call list_models first: prices and parameters differ between models. A generation is paid once for each idempotency_key; when an answer is lost, repeat the call with the same key.';

/** The server of one message. */
function serverFor({ era }: McpRequestContext, { exchange, takes }: ServedMessage, options: McpServerOptions): Server {
  const isModern = era === 'modern';
  const isPublic = { ttlMs: LIST_TTL_MS, cacheScope: 'public' } as const;
  const server = new Server(
    { ...IDENTITY },
    {
      capabilities: { tools: {}, ...(isModern ? { extensions: { [TASKS_EXTENSION]: {} } } : {}) },
      instructions: INSTRUCTIONS,
      supportedProtocolVersions: [...REVISIONS],
      cacheHints: { 'tools/list': isPublic, 'server/discover': isPublic },
    },
  );
  if (exchange === undefined) return server;
  server.setRequestHandler('tools/list', () => ({ tools: TOOLS.map(listed) }));
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const tool = findTool(params.name);
    if (tool === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such tool.');
    const { logger, requests, confirmAboveCredits } = options;
    const progress = progressOf(ctx, exchange);
    const call = {
      ...exchange,
      args: objectOf(params.arguments as Json | undefined),
      progress,
      takesTasks: isModern && takesTasks(capabilitiesOf(ctx)),
      confirm: confirmOf(server, ctx, { era, exchange, takes, progress, requests }),
      confirmAboveCredits,
    };
    return callTool(tool, call, logger);
  });
  if (isModern) serveTasks(server, exchange, options.logger);
  return server;
}

function progressOf({ mcpReq }: ServerContext, { context }: Exchange): Progress {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return new Progress(context.clock, undefined);
  return new Progress(context.clock, (progress) =>
    mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } }),
  );
}

/** The parts that are needed to ask the client of a call. */
interface Asking
  extends Pick<McpRequestContext, 'era'>, Pick<McpServerOptions, 'requests'>, Pick<ServedMessage, 'takes'> {
  readonly exchange: Exchange;
  readonly progress: Progress;
}

/** How the client of a call is asked about credits. In the revisions of 2025 the question needs a stream. */
function confirmOf(server: Server, ctx: ServerContext, { era, exchange, takes, progress, requests }: Asking): Confirm {
  const { mcpReq } = ctx;
  const { context, caller, waits: call } = exchange;
  const canAsk = era === 'modern' ? canShowForms(capabilitiesOf(ctx)) : takes.stream && asksPeople(exchange.sessionId);
  if (!canAsk) return async () => 'unable';
  if (era === 'modern')
    return confirmByRepetition(context, caller.credentialId, {
      responses: mcpReq.inputResponses,
      state: mcpReq.requestState(),
    });
  return confirmOnStream(requests, progress, {
    asked: caller,
    call,
    send: async (request) => server.transport?.send(request, { relatedRequestId: mcpReq.id }),
  });
}

/** Calls a tool. An error becomes its result, with the code and the message of REST. */
async function callTool(tool: Tool, call: ToolCall, logger: Logger): Promise<ToolAnswer> {
  const { state, args } = call;
  state.tool = tool.name;
  state.ids = { generationId: args['generation_id'], uploadId: args['upload_id'] };
  try {
    return await tool.answer(call);
  } catch (error) {
    // The client has disconnected.
    if (error instanceof CallOver) return refusalResult(new ServiceError('SERVICE_UNAVAILABLE'));
    const refusal = notedRefusal(error, state, logger);
    return refusalResult(new ServiceError(refusal.code, messageOf(refusal, MESSAGES), refusal.details));
  }
}

/** Messages that name arguments of a tool. */
const MESSAGES = {
  IDEMPOTENCY_KEY_REQUIRED: 'Send an idempotency_key.',
  IDEMPOTENCY_KEY_INVALID: 'idempotency_key must be 1 to 255 visible ASCII characters.',
  IDEMPOTENCY_PAYLOAD_MISMATCH: 'This idempotency_key was first used with different arguments.',
  IDEMPOTENCY_IN_PROGRESS: 'The first call with this idempotency_key is still being handled.',
  IDEMPOTENCY_REPLAY_EXPIRED: 'The answer to this idempotency_key is no longer kept; a new intent needs a new key.',
} as const;

/** The capabilities that the client of a message declares. */
function capabilitiesOf({ mcpReq }: ServerContext): unknown {
  const envelope: Readonly<Record<string, unknown>> = { ...mcpReq.envelope };
  return envelope[CLIENT_CAPABILITIES_META_KEY];
}

const PARAMS = fromJsonSchema<{ readonly taskId: string }>({
  type: 'object',
  required: ['taskId'],
  properties: { taskId: { type: 'string' } },
});

/** The methods of the tasks extension, for clients that named it. The library has no help for them. */
function serveTasks(server: Server, { context, caller, state }: Exchange, logger: Logger): void {
  for (const [method, { answer }] of TASK_METHODS)
    server.setRequestHandler(method, { params: PARAMS }, async ({ taskId }, ctx) => {
      if (!takesTasks(capabilitiesOf(ctx)))
        throw new MissingRequiredClientCapabilityError({
          requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
        });
      try {
        return await answer(context, caller, taskId);
      } catch (error) {
        const { code, message } = notedRefusal(error, state, logger);
        throw new ProtocolError(protocolCodeOf(code), `${code}: ${message}`);
      }
    });
}

/** An id without a task is an invalid parameter. */
function protocolCodeOf(code: ErrorCode): number {
  return code === 'TASK_NOT_FOUND' || code === 'GENERATION_JOB_NOT_FOUND'
    ? ProtocolErrorCode.InvalidParams
    : ProtocolErrorCode.InternalError;
}
