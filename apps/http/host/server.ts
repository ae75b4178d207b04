import { createServer, type Server } from 'node:http';
import Koa from 'koa';
import type { Logger } from 'pino';
import type { Clock } from '../../../core/ports/clock.js';
import type { Ids } from '../../../core/ports/ids.js';
import { ClientAddresses } from './client-addresses.js';
import { limitConnections } from './connection-limit.js';
import { handleRequest } from './handle-request.js';
import type { HttpState } from './http-context.js';
import type { HttpObserver } from './http-observer.js';
import { inTurn } from './in-turn.js';
import type { HttpLimits } from './limits.js';
import { Listening } from './listening.js';
import { answerRefusedConnections } from './refused-connections.js';
import { refuseRoute, routeByTarget, type HttpRouter } from './routing.js';
import { LINGER_MS } from './send.js';
import { UnauthenticatedRefusals } from './unauthenticated-refusals.js';

export interface HttpHostOptions {
  readonly ids: Pick<Ids, 'uuid'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: HttpLimits;
  /** Addresses and networks of proxies whose X-Forwarded-For is believed; none by default. */
  readonly trustedProxies?: readonly string[];
  /** How long a client may go on sending a body once it has its answer, in milliseconds; two seconds by default. */
  readonly lingerMs?: number;
  /** Told of every request and of the connections that did not become one. */
  readonly observer?: HttpObserver;
}

/** What the host has for its fronts. */
export interface HttpShared {
  readonly addresses: ClientAddresses;
  readonly refusals: UnauthenticatedRefusals;
  /** Whether the server was asked to close. */
  readonly isStopping: () => boolean;
  /** Calls back once, when the server is asked to close, unless the returned function is called first. */
  readonly onStopping: (tell: () => void) => () => void;
}

/** One front over the host: its routes, made of what the host has for it. */
export type HttpFront = (shared: HttpShared) => readonly HttpRouter[];

export interface HttpHost {
  /** Port 0 takes any free one; answers the one taken. */
  listen(host: string, port: number): Promise<{ readonly host: string; readonly port: number }>;
  /**
   * Accepts no more connections, finishes the requests in progress, closes idle connections, and aborts the rest after
   * `graceMs`.
   */
  close(graceMs: number): Promise<void>;
}

/** The HTTP server of one process with the fronts it serves. Nothing is listening before `listen`. */
export function createHttpHost(options: HttpHostOptions, fronts: readonly HttpFront[]): HttpHost {
  let stopping = false;
  const told = new Set<() => void>();
  const logger = options.logger.child({ front: 'rest' });
  const shared: HttpShared = {
    addresses: new ClientAddresses(options.trustedProxies ?? []),
    refusals: new UnauthenticatedRefusals(options.limits.failedAuthenticationsPerMinute, {
      clock: options.clock,
      logger,
    }),
    isStopping: () => stopping,
    onStopping: (tell) => {
      told.add(tell);
      return () => told.delete(tell);
    },
  };
  const app = createApp({ ...options, logger }, shared, fronts);
  const listening = new Listening(createHttpServer(app, options, shared.addresses), 'rest');
  return {
    listen: (host, port) => listening.listen(host, port),
    close: (graceMs) => {
      stopping = true;
      for (const tell of told) tell();
      return listening.close(graceMs).finally(() => shared.refusals.close());
    },
  };
}

function createApp(
  { ids, logger, observer, lingerMs = LINGER_MS }: HttpHostOptions,
  shared: HttpShared,
  fronts: readonly HttpFront[],
): Koa<HttpState> {
  const app = new Koa<HttpState>();
  routeByTarget(app);
  app.on('error', (error: unknown) => logger.debug({ err: error }, 'answer not delivered'));
  app.use(handleRequest({ ids, logger, ...shared, observer, lingerMs }));
  for (const router of fronts.flatMap((front) => front(shared))) app.use(router.routes());
  app.use(refuseRoute);
  return app;
}

function createHttpServer(
  app: Koa<HttpState>,
  { limits, ids, observer }: HttpHostOptions,
  addresses: ClientAddresses,
): Server {
  const serve = app.callback();
  const server = createServer(
    {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: Math.min(limits.headersTimeoutMs, 5_000),
      noDelay: true,
      // Ours refuses it too, with an envelope.
      requireHostHeader: false,
    },
    inTurn((req, res) => void serve(req, res)),
  );
  server.maxConnections = limits.maxConnections;
  limitConnections(server, {
    addresses,
    perAddress: limits.maxConnectionsPerAddress,
    onRefused: () => observer?.refused('full_for_address'),
  });
  // A client that asks and then neither reads nor sends holds a connection that others could use.
  server.setTimeout(limits.idleTimeoutMs);
  // The only expectation there is to meet is 100-continue, which the runtime does; any other changes nothing.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  answerRefusedConnections(server, ids, observer);
  return server;
}
