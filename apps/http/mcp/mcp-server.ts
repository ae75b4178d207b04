import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type McpRequestContext,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import type { Json } from '../../../core/json.js';
import { AskingByRepetition, canShowForms, UNABLE, type Asking } from './asking.js';
import { AskingOnStream } from './asking-on-stream.js';
import { callTool } from './call-tool.js';
import type { ClientRequests } from './client-requests.js';
import type { Exchange } from './exchange.js';
import { IDENTITY, REVISIONS } from './identity.js';
import { Progress } from './progress.js';
import { asksPeople } from './session-id.js';
import { capabilitiesOf, serveTasks } from './serve-tasks.js';
import { TASKS_EXTENSION, takesTasks } from './tasks.js';
import { listed } from './tool.js';
import { findTool, TOOLS } from './tools/all.js';

export interface McpServerOptions {
  readonly logger: Logger;
  readonly requests: ClientRequests;
  /** Credits that a call may spend without being confirmed. */
  readonly confirmAboveCredits: number;
}

const LIST_TTL_MS = 300_000;

const INSTRUCTIONS =
  'Makes images and videos from prompts, paid in credits. Call list_models first: prices and parameters differ between models. A generation is paid once for each idempotency_key; when an answer is lost, repeat the call with the same key.';

/** The server of one message. */
export function serverFor({ era }: McpRequestContext, exchange: Exchange, options: McpServerOptions): Server {
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
      asking: askingOf(server, ctx, { era, exchange, progress, requests: options.requests }),
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
  readonly requests: ClientRequests;
}

function askingOf(server: Server, ctx: ServerContext, needs: AskingNeeds): Asking {
  const { mcpReq } = ctx;
  const { era, exchange, progress, requests } = needs;
  const { credentialId, accountId } = exchange.caller;
  if (era === 'modern') {
    if (!canShowForms(capabilitiesOf(ctx))) return UNABLE;
    const { digests, clock } = exchange.context;
    return new AskingByRepetition(
      { digests, clock, credentialId },
      { responses: mcpReq.inputResponses, state: mcpReq.requestState() },
    );
  }
  if (!asksPeople(exchange.sessionId)) return UNABLE;
  return new AskingOnStream({
    requests,
    asked: { credentialId, accountId },
    call: exchange.waits,
    progress,
    send: async (request) => server.transport?.send(request, { relatedRequestId: mcpReq.id }),
  });
}
