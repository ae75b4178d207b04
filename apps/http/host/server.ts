import { createServer, type Server } from 'node:http';
import Koa from 'koa';
import type { Logger } from 'pino';
import type { Authenticator } from '../../../core/access/authenticate.js';
import type { Context } from '../../../core/context.js';
import { Listening } from './listening.js';
import { ClientAddresses } from './client-addresses.js';
import { limitConnections } from './connection-limit.js';
import { docsEndpoints } from '../developer/docs-page.js';
import { handleRequest } from './handle-request.js';
import { serveHealth, serveReadiness } from './probes.js';
import type { HttpObserver } from './http-observer.js';
import { inTurn } from './in-turn.js';
import type { RestLimits } from './limits.js';
import { createRateLimits } from '../developer/shown-rate-limit.js';
import { answerRefusedConnections } from './refused-connections.js';
import type { RestState } from './http-context.js';
import { createRouting, type Endpoint } from './routing.js';
import { ROUTES } from '../developer/routes.js';
import { LINGER_MS } from './send.js';
import { serveProtected, servePublic, type ServingParts } from '../developer/serve-operation.js';
import { serveSignedObjects, type SignedObjectGate } from '../objects/signed-objects.js';
import { StrangerRefusals } from './stranger-refusals.js';

export interface RestServerOptions {
  readonly context: Context;
  readonly authenticator: Authenticator;
  readonly logger: Logger;
  readonly limits: RestLimits;
  /** Addresses and networks of proxies whose X-Forwarded-For is believed; none by default. */
  readonly trustedProxies?: readonly string[];
  /** Serves `/objects/…`, for an object store that has no server of its own. */
  readonly signedObjects?: SignedObjectGate;
  /** Whether the database answers; asked for `/readyz`, once at a time. */
  readonly readiness: () => Promise<boolean>;
  /** Throws what refuses a protected request that the stores could not answer anyway; absent, all are tried. */
  readonly requireStores?: ServingParts['requireStores'];
  /** How long a client may go on sending a body once it has its answer, in milliseconds; two seconds by default. */
  readonly lingerMs?: number;
  /** Told of every request and of the connections that did not become one. */
  readonly observer?: HttpObserver;
}

export interface RestServer {
  /** Port 0 takes any free one; answers the one taken. */
  listen(host: string, port: number): Promise<{ readonly host: string; readonly port: number }>;
  /** Takes no more connections, finishes the requests under way, lets go of whoever has none, and cuts what is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** The REST front of one process. Nothing is listening before `listen`. */
export function createRestServer(options: RestServerOptions): RestServer {
  let stopping = false;
  const logger = options.logger.child({ front: 'rest' });
  const addresses = new ClientAddresses(options.trustedProxies ?? []);
  const strangers = new StrangerRefusals(options.limits.failedAuthenticationsPerMinute, { clock: options.context.clock, logger });
  const app = createApp(options, { logger, addresses, strangers, isStopping: () => stopping });
  const listening = new Listening(createHttpServer(app, options, addresses), 'rest');
  return {
    listen: (host, port) => listening.listen(host, port),
    close: (graceMs) => {
      stopping = true;
      return listening.close(graceMs).finally(() => strangers.close());
    },
  };
}

interface AppParts {
  readonly logger: Logger;
  readonly addresses: ClientAddresses;
  readonly strangers: StrangerRefusals;
  readonly isStopping: () => boolean;
}

function createApp(options: RestServerOptions, { logger, addresses, strangers, isStopping }: AppParts): Koa<RestState> {
  const { context, authenticator, limits, readiness, signedObjects } = options;
  const parts: ServingParts = { context, authenticator, rateLimits: createRateLimits(limits), addresses, strangers, bodyTimeoutMs: limits.bodyTimeoutMs, requireStores: options.requireStores ?? (() => undefined) };
  const endpoints: Endpoint[] = [
    ...ROUTES.map((route): Endpoint => (
      [route.method, route.path, route.scope === undefined ? servePublic(route, parts) : serveProtected(route, parts)]
    )),
    ['GET', '/healthz', serveHealth],
    ['GET', '/readyz', serveReadiness({ readiness, isStopping })],
    ...docsEndpoints(context.settings),
  ];
  const app = new Koa<RestState>();
  app.on('error', (error: unknown) => logger.debug({ err: error }, 'answer not delivered'));
  app.use(handleRequest({ ids: context.ids, logger, addresses, strangers, isStopping, observer: options.observer, lingerMs: options.lingerMs ?? LINGER_MS }));
  if (signedObjects) app.use(serveSignedObjects(signedObjects));
  app.use(createRouting(endpoints));
  return app;
}

function createHttpServer(app: Koa<RestState>, { limits, context, observer }: RestServerOptions, addresses: ClientAddresses): Server {
  const serve = app.callback();
  const server = createServer({
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.min(limits.headersTimeoutMs, 5_000),
    noDelay: true,
    // Ours refuses it too, with an envelope.
    requireHostHeader: false,
  }, inTurn((req, res) => void serve(req, res)));
  server.maxConnections = limits.maxConnections;
  limitConnections(server, { addresses, perAddress: limits.maxConnectionsPerAddress, onRefused: () => observer?.refused('full_for_address') });
  // Whoever asks and then does not read, or sends no more, holds a connection that others could use.
  server.setTimeout(limits.idleTimeoutMs);
  // The only expectation there is to meet is 100-continue, which the runtime does; any other changes nothing.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  answerRefusedConnections(server, context.ids, observer);
  return server;
}
