import { Router } from '@koa/router';
import Koa from 'koa';
import {
  createServer,
  type IncomingMessage,
  METHODS,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { ServiceError } from '../../../core/errors.js';
import type { Clock, Ids } from '../../../core/ports/machine.js';
import { loggedIds, safeRequestId } from '../../logging/logged-fields.js';
import { ClientAddresses } from './client-addresses.js';
import { answerRefusedConnections, inTurn, limitConnections, OpenConnections } from './connections.js';
import { answerError } from './errors.js';
import type {
  ErrorRenderer,
  HttpContext,
  HttpLimits,
  HttpMiddleware,
  HttpObserver,
  HttpState,
} from './http-context.js';
import { readTarget, requireOneHost } from './request.js';
import { cutLateBody, finishSending, LINGER_MS } from './send.js';
import { UnauthenticatedRefusals } from './unauthenticated-refusals.js';

/** A request whose path matched. A parameter is the segment of the path, percent-decoded where it can be. */
export type RoutedContext = HttpContext & { readonly params: Readonly<Record<string, string>> };
export type HttpHandler = (ctx: RoutedContext) => Promise<void>;
export type HttpRouter = Router<HttpState>;

export interface HttpRoute {
  /** HEAD is served with GET. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS' | 'any';
  /**
   * A segment `:name` matches any non-empty text, and `*name` the rest of the path. The comparison is exact: letter
   * case and a trailing slash count.
   */
  readonly path: string;
  readonly serve: HttpHandler;
}

export interface HttpHostOptions {
  readonly ids: Pick<Ids, 'uuid'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: HttpLimits;
  /** Addresses and networks of proxies whose X-Forwarded-For is believed; none by default. */
  readonly trustedProxies?: readonly string[];
  /** How long a client may continue sending a body after the response, in milliseconds; two seconds by default. */
  readonly lingerMs?: number;
  /** Notified of every request and of the connections that did not become one. */
  readonly observer?: HttpObserver;
}

/** The services of the host for its fronts. */
export interface HttpShared {
  readonly addresses: ClientAddresses;
  readonly refusals: UnauthenticatedRefusals;
  /** Whether the server has been asked to close. */
  readonly isStopping: () => boolean;
  /** Calls back once, when the server is asked to close, unless the returned function is called first. */
  readonly onStopping: (tell: () => void) => () => void;
}

/** One front over the host: its routes. */
export type HttpFront = (shared: HttpShared) => readonly HttpRouter[];

export type HttpHost = Pick<Listening, 'listen' | 'close'>;

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
  const serve = createApp({ ...options, logger }, shared, fronts).callback();
  const listening = new Listening(
    createHttpServer((req, res) => void serve(req, res), options, shared.addresses),
    'rest',
  );
  return {
    listen: (host, port) => listening.listen(host, port),
    close: (graceMs) => {
      stopping = true;
      for (const tell of told) tell();
      return listening.close(graceMs).finally(() => shared.refusals.close());
    },
  };
}

function createApp(options: HttpHostOptions, shared: HttpShared, fronts: readonly HttpFront[]): Koa<HttpState> {
  const app = new Koa<HttpState>();
  routeByTarget(app);
  answerWhatIsLeft(app);
  app.on('error', (error: unknown) => options.logger.debug({ err: error }, 'answer not delivered'));
  app.use(handleRequest({ ...options, ...shared }));
  for (const router of fronts.flatMap((front) => front(shared))) app.use(router.routes());
  app.use(() => {
    throw new ServiceError('ROUTE_NOT_FOUND');
  });
  return app;
}

function createHttpServer(
  serve: RequestListener,
  { limits, ids, observer }: HttpHostOptions,
  addresses: ClientAddresses,
): Server {
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
    inTurn(serve),
  );
  server.maxConnections = limits.maxConnections;
  limitConnections(server, addresses, limits.maxConnectionsPerAddress, () => observer?.refused('full_for_address'));
  // A client that asks and then neither reads nor sends holds a connection that others could use.
  server.setTimeout(limits.idleTimeoutMs);
  server.on('checkContinue', (req, res) => {
    continueWhenRead(req, res);
    server.emit('request', req, res);
  });
  // Any other expectation changes nothing.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  answerRefusedConnections(server, ids, observer);
  return server;
}

/**
 * Sends 100 Continue when a handler begins to read the body. A request that its head is enough to refuse gets only its
 * final status (RFC 9110, section 10.1.1). The runtime then closes the connection: the client may send the body or leave
 * it out, so that the next request has no certain beginning.
 */
function continueWhenRead(req: IncomingMessage, res: ServerResponse): void {
  const continueOnce = (event: string | symbol): void => {
    if (event !== 'data' && event !== 'readable') return;
    req.off('newListener', continueOnce);
    if (!res.headersSent) res.writeContinue();
  };
  req.on('newListener', continueOnce);
}

/** On every answer. Answers are data: a browser that opens one must neither run, frame, sniff nor leak anything. */
const SECURITY_HEADERS: readonly (readonly [name: string, value: string])[] = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ['Referrer-Policy', 'no-referrer'],
];

type HandlingParts = HttpHostOptions & HttpShared;

/** Wraps every request: its id, the headers of every response, the one error handler, one line in the log. */
function handleRequest(parts: HandlingParts): HttpMiddleware {
  const { ids, logger, observer } = parts;
  return async (ctx, next) => {
    const startedAt = performance.now();
    observer?.started();
    const { req, res, state } = ctx;
    state.requestId = safeRequestId(req.headers['x-request-id']) ?? ids.uuid();
    res.setHeader('X-Request-Id', state.requestId);
    for (const [name, value] of SECURITY_HEADERS) res.setHeader(name, value);
    try {
      requireOneHost(req);
      state.target = readTarget(req.url ?? '');
      await next();
    } catch (error) {
      await answerError(ctx, error, logger);
    }
    if (state.later === undefined) return finish(ctx, startedAt, parts);
    // The framework must not answer now.
    ctx.respond = false;
    const end = (): void => finishLater(ctx, startedAt, parts);
    void state.later.then(end, (error: unknown) => {
      answerError(ctx, error, logger).then(end, (failed: unknown) => ctx.app.emit('error', failed));
    });
  };
}

function finishLater(ctx: HttpContext, startedAt: number, parts: HandlingParts): void {
  try {
    finish(ctx, startedAt, parts);
  } catch (error) {
    ctx.app.emit('error', error);
  }
}

/** Counts and logs a request once its response is ready, and sends the response. */
function finish(ctx: HttpContext, startedAt: number, parts: HandlingParts): void {
  const { logger, addresses, refusals, isStopping, observer, lingerMs = LINGER_MS } = parts;
  const { req, res, state } = ctx;
  if (!req.complete) cutLateBody(ctx, lingerMs);
  if (isStopping() && !res.headersSent) res.setHeader('Connection', 'close');
  const { method = '' } = req;
  const { statusCode: status } = res;
  observer?.ended({
    method,
    route: state.route,
    status,
    hasFailedGeneration: state.hasFailedGeneration === true,
    code: state.refusal?.code,
    bound: state.refusal?.bound,
    durationMs: performance.now() - startedAt,
  });
  const isUnauthenticated = status >= 400 && status < 500 && state.caller === undefined;
  // The log lines of an outage count the requests that were refused because of it.
  if (isUnauthenticated && state.isLeftOut !== true) {
    state.address ??= addresses.ofRequest(req);
    state.isLeftOut = !refusals.isLogged(state.address);
  }
  const level = levelFor(status, state);
  if (logger.isLevelEnabled(level)) {
    const { requestId, route, tool, caller, refusal, ids, address } = state;
    const line = {
      requestId,
      method,
      route,
      tool,
      status,
      ...refusal,
      ...(ids && loggedIds(ids)),
      durationMs: Math.round((performance.now() - startedAt) * 100) / 100,
      address,
      accountId: caller?.accountId,
      credentialId: caller?.credentialId,
    };
    logger[level](line, 'request');
  }
  finishSending(ctx);
}

function levelFor(
  status: number,
  { isLeftOut, hasCreated, hasFailedGeneration, refusal }: HttpState,
): 'error' | 'info' | 'debug' {
  if (isLeftOut === true) return 'debug';
  if (status >= 500 && hasFailedGeneration !== true) return 'error';
  return status >= 400 || hasCreated === true || refusal !== undefined ? 'info' : 'debug';
}

/**
 * The routes of a front. A path without parameters goes before one with them, whatever the method, so that a name is
 * never taken for a value. A path that lacks the method throws METHOD_NOT_ALLOWED and says which it has. `renderError`
 * renders the refusals of all of them.
 */
export function createRouter(routes: readonly HttpRoute[], prefix = '', renderError?: ErrorRenderer): HttpRouter {
  const router = new Router<HttpState>({ prefix, exclusive: 'specificity', sensitive: true, strict: true });
  for (const [path, served] of byPath(routes)) {
    const pattern = prefix + path;
    const handlers = new Map<string, HttpHandler>(served.map(({ method, serve }) => [method, serve]));
    const allowed = [...handlers.keys(), ...(handlers.has('GET') ? ['HEAD'] : [])].toSorted().join(', ');
    // One entry for all methods of a path: the router compares a request with each entry.
    router.register(path, METHODS, (ctx) => {
      const { method, res, state } = ctx;
      if (renderError !== undefined) state.renderError = renderError;
      const serve = handlers.get(method === 'HEAD' ? 'GET' : method) ?? handlers.get('any');
      if (serve === undefined) return refuseMethod(res, allowed);
      state.route = pattern;
      // It is not used, and a request that waits would hold it.
      ctx.matched = [];
      return serve(ctx);
    });
  }
  return router;
}

function byPath(routes: readonly HttpRoute[]): ReadonlyMap<string, readonly HttpRoute[]> {
  const found = new Map<string, HttpRoute[]>();
  for (const route of routes) found.set(route.path, [...(found.get(route.path) ?? []), route]);
  return found;
}

function refuseMethod(res: ServerResponse, allowed: string): never {
  res.setHeader('Allow', allowed);
  throw new ServiceError('METHOD_NOT_ALLOWED', `This route takes ${allowed}.`);
}

/**
 * Has the routers match the path as the host read it: the framework's own parser of URLs throws for some that a request
 * may be sent to. They ask for the request's host too, on which no route depends: reading it costs more than routing.
 */
function routeByTarget(app: Koa<HttpState>): void {
  Object.defineProperties(app.context, {
    host: { value: '' },
    path: {
      get(this: HttpContext): string {
        return this.state.target.path;
      },
    },
  });
}

interface Framework {
  handleRequest(ctx: HttpContext, run: (ctx: HttpContext) => Promise<void>): Promise<void>;
}

/**
 * Has the framework answer the requests that are left to it, and no other: of each that it answers it holds 2 kB until the
 * end, to report broken connections, and thousands of requests wait.
 */
function answerWhatIsLeft(app: Koa<HttpState>): void {
  const framework = app as unknown as Framework;
  const answer = framework.handleRequest.bind(app);
  const replaced: Framework = {
    handleRequest(ctx, run) {
      const { res } = ctx;
      res.statusCode = 404;
      const answerLeft = (): Promise<void> | undefined => {
        const { statusCode } = res;
        if (ctx.respond === false) return undefined;
        return answer(ctx, async () => void (res.statusCode = statusCode));
      };
      return run(ctx)
        .then(answerLeft)
        .catch((error: Error) => ctx.onerror(error));
    },
  };
  Object.assign(app, replaced);
}

/** The port of one HTTP server, and its connections from the first to the last. */
export class Listening {
  private readonly connections: OpenConnections;

  /** Called before clients can connect. `section` is that of the configuration. */
  constructor(
    private readonly server: Server,
    private readonly section: 'rest' | 'internal',
  ) {
    this.connections = new OpenConnections(server);
  }

  /**
   * Port 0 selects any free port; returns the selected one. Throws one sentence that names the keys of the section if
   * it cannot listen.
   */
  listen(host: string, port: number): Promise<{ readonly host: string; readonly port: number }> {
    const { server, section } = this;
    return new Promise((resolve, reject) => {
      const refuse = (error: NodeJS.ErrnoException) => reject(cannotListen(section, host, port, error));
      server.once('error', refuse);
      server.listen(port, host, () => {
        server.off('error', refuse);
        resolve({ host, port: (server.address() as AddressInfo).port });
      });
    });
  }

  /**
   * Accepts no more connections, finishes the requests in progress, closes idle connections, and aborts the rest after
   * `graceMs`.
   */
  close(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cut = setTimeout(() => this.server.closeAllConnections(), graceMs);
      this.server.close(() => {
        clearTimeout(cut);
        resolve();
      });
      this.connections.letGo();
    });
  }
}

function cannotListen(section: string, host: string, port: number, error: NodeJS.ErrnoException): Error {
  const reason =
    error.code === 'EADDRINUSE'
      ? 'another process does'
      : error.code === 'EACCES'
        ? 'this user may not'
        : `the system says ${error.code ?? error.message}`;
  return new Error(
    `The server cannot listen on port ${port} of ${host}, since ${reason}; choose another port by DARKROOM_${section.toUpperCase()}_PORT, or by ${section}.port in darkroom.yaml, or another ${section}.host.`,
    { cause: error },
  );
}
