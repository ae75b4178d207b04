import type { Logger } from 'pino';
import { CredentialWatch } from '../host/authenticate.js';
import { createRouter, type HttpFront } from '../host/server.js';
import { ClientRequests } from './client-requests.js';
import { discoveryRoutes } from './discovery.js';
import { MCP_PATH } from './identity.js';
import type { McpServerOptions } from './mcp-server.js';
import type { HandleMessage } from './message-handler.js';
import { type McpServingParts, serveMcp } from './serve-mcp.js';

export interface McpOptions extends Pick<
  McpServingParts,
  'context' | 'authenticator' | 'rates' | 'bodyTimeoutMs' | 'publicUrl'
> {
  readonly logger: Logger;
  /** Credits that a call may spend without being confirmed by a person. */
  readonly confirmAboveCredits: number;
  readonly resourceMetadata?: McpServingParts['resourceMetadata'];
  readonly requireStores?: McpServingParts['requireStores'];
}

/** The MCP server, and the public documents by which it is found. */
export function mcp({
  logger,
  confirmAboveCredits,
  resourceMetadata = () => undefined,
  requireStores = () => undefined,
  ...options
}: McpOptions): HttpFront {
  return (shared) => {
    const requests = new ClientRequests(options.context);
    const credentialWatch = new CredentialWatch(options.authenticator, options.context.clock, 'mcp');
    const handle = loadedLate({ logger, requests, confirmAboveCredits });
    const serve = serveMcp({
      ...options,
      resourceMetadata,
      requireStores,
      ...shared,
      credentialWatch,
      requests,
      handle,
    });
    return [createRouter([...discoveryRoutes(options.publicUrl), { method: 'POST', path: MCP_PATH, serve }])];
  };
}

/** The library takes a fifth of a second to load, so it is loaded by the first message. */
function loadedLate(options: McpServerOptions): HandleMessage {
  let loading: Promise<HandleMessage> | undefined;
  return async (...message) => {
    loading ??= load(options).catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    await (
      await loading
    )(...message);
  };
}

async function load(options: McpServerOptions): Promise<HandleMessage> {
  const [{ serverFor }, { messageHandler }] = await Promise.all([
    import('./mcp-server.js'),
    import('./message-handler.js'),
  ]);
  return messageHandler(options.logger, (request, exchange) => serverFor(request, exchange, options));
}
