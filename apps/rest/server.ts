import { createServer, type Server } from 'node:http';
import Koa from 'koa';
import type { Logger } from 'pino';
import type { Authenticator } from '../../core/access/authenticate.js';
import type { Context } from '../../core/context.js';
import { Listening } from '../listening.js';
import { docsEndpoints } from './docs-page.js';
import { handleRequest } from './handle-request.js';
import { serveHealth, serveReadiness } from './health.js';
import type { HttpObserver } from './http-observer.js';
import type { RestLimits } from './limits.js';
import { createRateLimits } from './shown-rate-limit.js';
import { answerRefusedConnections } from './refused-connections.js';
import type { RestState } from './rest-context.js';
import { createRouting, type Endpoint } from './router.js';
import { ROUTES } from './routes.js';
import { serveProtected, servePublic, type ServingParts } from './serve-operation.js';
import { serveSignedObjects, type SignedObjectGate } from './signed-objects.js';

export interface RestServerOptions {
  readonly context: Context;
  readonly authenticator: Authenticator;
  readonly logger: Logger;
  readonly limits: RestLimits;
  /** Serves `/objects/…`, for an object store that has no server of its own. */
  readonly signedObjects?: SignedObjectGate;
  /** Whether the database answers; asked for `/readyz`, once at a time. */
  readonly readiness: () => Promise<boolean>;
  /** One success in so many is logged at `info`; 0, the default, logs all of them at `debug`. Refusals are always logged. */
  readonly logOneSuccessIn?: number;
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
  const app = createApp(options, () => stopping);
  const listening = new Listening(createHttpServer(app, options), 'rest');
  return {
    listen: (host, port) => listening.listen(host, port),
    close: (graceMs) => {
      stopping = true;
      return listening.close(graceMs);
    },
  };
}

function createApp(options: RestServerOptions, isStopping: () => boolean): Koa<RestState> {
  const { context, authenticator, limits, readiness, signedObjects } = options;
  const logger = options.logger.child({ front: 'rest' });
  const parts: ServingParts = { context, authenticator, rateLimits: createRateLimits(limits), bodyTimeoutMs: limits.bodyTimeoutMs };
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
  app.use(handleRequest({ ids: context.ids, logger, isStopping, logOneSuccessIn: options.logOneSuccessIn ?? 0, observer: options.observer }));
  if (signedObjects) app.use(serveSignedObjects(signedObjects));
  app.use(createRouting(endpoints));
  return app;
}

function createHttpServer(app: Koa<RestState>, { limits, context, observer }: RestServerOptions): Server {
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
  }, (req, res) => void serve(req, res));
  server.maxConnections = limits.maxConnections;
  // Whoever asks and then does not read, or sends no more, holds a connection that others could use.
  server.setTimeout(limits.idleTimeoutMs);
  // The only expectation there is to meet is 100-continue, which the runtime does; any other changes nothing.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  answerRefusedConnections(server, context.ids, observer);
  return server;
}
