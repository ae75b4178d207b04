import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type AuthInfo,
  type McpRequestContext,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Json, JsonObject } from '../../../core/json.js';
import { AskingByRepetition, canShowForms, UNABLE, type Asking } from './asking.js';
import { callTool } from './call-tool.js';
import type { Exchange } from './exchange.js';
import { IDENTITY, REVISIONS } from './identity.js';
import { Progress } from './progress.js';
import { AskingOnStream, type Questions } from './questions.js';
import { asksPeople } from './session-id.js';
import { capabilitiesOf, serveTasks } from './serve-tasks.js';
import { TASKS_EXTENSION, takesTasks } from './tasks.js';
import { listed } from './tool.js';
import { findTool, TOOLS } from './tools/all.js';

export interface McpServerOptions {
  readonly logger: Logger;
  readonly questions: Questions;
  /** Credits that a call may spend without being confirmed. */
  readonly confirmAboveCredits: number;
}

/** Answers one message that was read and checked. */
export type HandleMessage = (
  req: IncomingMessage,
  res: ServerResponse,
  body: JsonObject,
  exchange: Exchange,
) => Promise<void>;

const LIST_TTL_MS = 300_000;

const INSTRUCTIONS =
  'Makes images and videos from prompts, paid in credits. Call list_models first: prices and parameters differ between models. A generation is paid once for each idempotency_key; when an answer is lost, repeat the call with the same key.';

/** The protocol, by its library. A server lives for one message: there is nothing to keep between two. */
export function createMessageHandler(options: McpServerOptions): HandleMessage {
  const onerror = (error: Error): void => options.logger.debug({ err: error }, 'MCP message refused');
  const handler = createMcpHandler((request) => serverFor(request, options), { onerror });
  return async (req, res, body, exchange) => {
    const authInfo: AuthInfo = {
      token: '',
      clientId: exchange.caller.credentialId,
      scopes: [...exchange.caller.scopes],
      extra: { exchange },
    };
    const fetch: typeof handler.fetch = (request, given) => handler.fetch(request, { ...given, authInfo });
    await toNodeHandler({ fetch }, { onerror })(req as NodeIncomingMessageLike, res, body);
  };
}

function serverFor({ era, authInfo }: McpRequestContext, options: McpServerOptions): Server {
  const exchange = authInfo?.extra?.['exchange'] as Exchange;
  const isModern = era === 'modern';
  const server = new Server(
    { name: IDENTITY.name, version: IDENTITY.version, title: IDENTITY.title, description: IDENTITY.description },
    {
      capabilities: { tools: {}, ...(isModern ? { extensions: { [TASKS_EXTENSION]: {} } } : {}) },
      instructions: INSTRUCTIONS,
      supportedProtocolVersions: [...REVISIONS],
      cacheHints: { 'tools/list': { ttlMs: LIST_TTL_MS, cacheScope: 'public' } },
    },
  );
  server.setRequestHandler('tools/list', () => ({ tools: TOOLS.map(listed) }));
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const tool = findTool(params.name);
    if (tool === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such tool.');
    const progress = progressOf(ctx, exchange);
    return callTool(tool, params.arguments as Json | undefined, {
      exchange,
      logger: options.logger,
      progress,
      takesTasks: isModern && takesTasks(capabilitiesOf(ctx)),
      asking: askingOf(server, ctx, { era, exchange, progress, questions: options.questions }),
      confirmAboveCredits: options.confirmAboveCredits,
    });
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

interface AskingNeeds {
  readonly era: McpRequestContext['era'];
  readonly exchange: Exchange;
  readonly progress: Progress;
  readonly questions: Questions;
}

function askingOf(server: Server, ctx: ServerContext, needs: AskingNeeds): Asking {
  const { mcpReq } = ctx;
  const { era, exchange, progress, questions } = needs;
  const { credentialId } = exchange.caller;
  if (era === 'modern') {
    if (!canShowForms(capabilitiesOf(ctx))) return UNABLE;
    const { digests, clock } = exchange.context;
    return new AskingByRepetition(
      { digests, clock, credentialId },
      { responses: mcpReq.inputResponses, state: mcpReq.requestState() },
    );
  }
  const { call } = exchange.context;
  if (!asksPeople(exchange.sessionId) || call === undefined) return UNABLE;
  return new AskingOnStream({
    questions,
    credentialId,
    call,
    progress,
    send: async (request) => server.transport?.send(request, { relatedRequestId: mcpReq.id }),
  });
}
