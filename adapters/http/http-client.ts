import { AllowList, readTarget, type Target } from './allow-list.js';
import {
  type Connections,
  guardedConnector,
  ownConnections,
  pooledConnections,
  type Resolver,
  trustedAuthorities,
} from './connections.js';
import { CallLife, Exchange, headersAfter, redirectTarget } from './exchange.js';
import { HttpAnswer } from './http-answer.js';
import { HttpError } from './http-error.js';
import { bodyOf, headersOf, type HttpRequest } from './http-request.js';
import { DEFAULT_HTTP_LIMITS, type HttpLimits, requireLimits } from './limits.js';
import type { Proxies } from './proxies.js';
import { type TextSocket, type TextSocketRequest, WebSockets } from './web-sockets.js';

export interface HttpClientOptions {
  /** Networks and hosts in addition to the public internet; see `AllowList`. */
  readonly allow?: readonly string[];
  /** Certificate authorities, in PEM, that are trusted in addition to the machine's own. */
  readonly extraCa?: readonly string[];
  /** For calls without their own limits. */
  readonly limits?: Partial<HttpLimits>;
  readonly maxHeaderBytes?: number;
  /** Connections to one origin, at most; further requests wait for one. */
  readonly maxConnectionsPerOrigin?: number;
  /** How long a connection without a request is kept. */
  readonly keepAliveMs?: number;
  /** Proxies that requests go through; none when absent, whatever the environment says. */
  readonly proxies?: Proxies;
  /** Instead of the machine's own name resolution. */
  readonly resolve?: Resolver;
}

/**
 * Sends requests to external servers. It reaches the public internet over verified TLS, and what the operator has
 * listed; it follows no redirect unless told to, and bounds the size and the time of every answer. It never sends a
 * request twice. A call that is aborted sends nothing more. Proxy variables of the environment have no effect, unless they
 * are given as `proxies`; through a proxy, the addresses that names lead to are not checked. Every failure is an
 * `HttpError`.
 */
export class HttpClient {
  private readonly limits: HttpLimits;
  private readonly pooled: Connections;
  private readonly unpooled: Connections;
  private readonly sockets: WebSockets;
  private readonly calls = new Set<CallLife>();
  private isClosed = false;

  /** Throws a `RangeError` for an entry of the list or a limit that cannot be. */
  constructor(options: HttpClientOptions = {}) {
    this.limits = { ...DEFAULT_HTTP_LIMITS, ...options.limits };
    requireLimits(this.limits);
    const { maxHeaderBytes = 16 * 1024, maxConnectionsPerOrigin = 16, keepAliveMs = 4_000, resolve } = options;
    const connections = {
      connect: guardedConnector({
        allow: new AllowList(options.allow ?? []),
        connectTimeoutMs: this.limits.connectTimeoutMs,
        ca: trustedAuthorities(options.extraCa),
        resolve,
        proxies: options.proxies,
      }),
      perOrigin: maxConnectionsPerOrigin,
      maxHeaderBytes,
      keepAliveMs,
    };
    this.pooled = pooledConnections(connections);
    this.unpooled = ownConnections(connections);
    this.sockets = new WebSockets(connections.connect);
  }

  /** Resolves when the answer's headers have come, whatever its status. Throws `HttpError`. */
  async request(request: HttpRequest): Promise<HttpAnswer> {
    const { method, maxRedirects = 0, signal } = request;
    const limits = { ...this.limits, ...request.limits };
    requireLimits(limits);
    if (maxRedirects > 0 && method !== 'GET' && method !== 'HEAD')
      throw new RangeError(`Redirects of ${method} are not followed.`);
    if (maxRedirects > 0 && request.body !== undefined)
      throw new RangeError('Redirects of a request with a body are not followed.');
    const first = readTarget(request.url);
    let target = first;
    let headers = headersOf(request);
    if (this.isClosed || signal.aborted)
      throw new HttpError('aborted', `${method} ${shownOf(first, first, request)}: The call was aborted.`, {
        requestSent: false,
      });
    const life = new CallLife(signal, this.calls, limits.totalTimeoutMs);
    try {
      for (let followed = 0; ; followed += 1) {
        const hop = {
          method,
          target,
          shown: shownOf(target, first, request),
          headers,
          body: bodyOf(request),
          followsRedirect: maxRedirects > 0,
          isFollowing: followed > 0,
        };
        const exchange = new Exchange(hop, limits, life);
        await exchange.begin(this.connectionsFor(request));
        if (!exchange.isRedirect) return new HttpAnswer(exchange, limits);
        exchange.drop();
        if (followed === maxRedirects)
          throw exchange.error('bad-answer', `It redirects more than ${maxRedirects} times.`);
        const next = redirectTarget(exchange.headers.location ?? '', target, exchange.error);
        headers = headersAfter(headers, target, next);
        target = next;
      }
    } catch (error) {
      life.end();
      throw error;
    }
  }

  /** A WebSocket to a server that this client may call. Throws `HttpError` for an address that cannot be one. */
  receive(request: TextSocketRequest): TextSocket {
    return this.sockets.receive(request);
  }

  /** Aborts the calls in progress and closes all connections. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const life of this.calls) life.cut('closed');
    await Promise.all([this.pooled.close(), this.unpooled.close(), this.sockets.close()]);
  }

  private connectionsFor({
    method,
    onOwnConnection = method === 'POST' || method === 'PATCH',
  }: HttpRequest): Connections {
    return onOwnConnection ? this.unpooled : this.pooled;
  }
}

/**
 * The part of a target that errors show. One at another origin comes from a redirect, which often leads to a secret
 * path.
 */
function shownOf({ origin, shown }: Target, first: Target, { hasSecretPath = false }: HttpRequest): string {
  return hasSecretPath || origin !== first.origin ? origin : shown;
}
