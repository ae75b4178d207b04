import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node';
import {
  type AuthInfo,
  createMcpHandler,
  type McpRequestContext,
  type McpServer,
  type Server,
} from '@modelcontextprotocol/server';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { JsonObject } from '../../../core/json.js';
import type { Exchange } from './exchange.js';

/** Answers one message that was read and checked. */
export type HandleMessage = (
  req: IncomingMessage,
  res: ServerResponse,
  body: JsonObject,
  exchange: Exchange,
) => Promise<void>;

/** Makes the server of one message. */
export type ServerFactory = (request: McpRequestContext, exchange: Exchange) => Server | McpServer;

/** Streams that clients of this process listen to; nothing is told on them. */
const MAX_SUBSCRIPTIONS = 100;

/** The protocol, by its library. A server lives for one message: there is nothing to keep between two. */
export function messageHandler(logger: Logger, makeServer: ServerFactory): HandleMessage {
  const onerror = (error: Error): void => logger.debug({ err: error }, 'MCP message refused');
  const handler = createMcpHandler(
    (request) => makeServer(request, request.authInfo?.extra?.['exchange'] as Exchange),
    { onerror, maxSubscriptions: MAX_SUBSCRIPTIONS },
  );
  return async (req, res, body, exchange) => {
    const { credentialId, scopes } = exchange.caller;
    const authInfo: AuthInfo = { token: '', clientId: credentialId, scopes: [...scopes], extra: { exchange } };
    const fetch: typeof handler.fetch = (request, given) => handler.fetch(request, { ...given, authInfo });
    await toNodeHandler({ fetch }, { onerror })(req as NodeIncomingMessageLike, res, body);
  };
}
