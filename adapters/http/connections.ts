import ipaddr from 'ipaddr.js';
import { lookup as systemLookup, Resolver as NameServers } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIP, type LookupFunction, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import * as tls from 'node:tls';
import { callbackify } from 'node:util';
import PQueue from 'p-queue';
import type { Agent, buildConnector, Client, Dispatcher } from 'undici';
import { undici } from '../lazy-packages.js';
import {
  AddressRefused,
  type AllowList,
  type Endpoint,
  literalAddress,
  mayBePublic,
  readHostname,
  requireAllowed,
  requireAllowedName,
} from './allow-list.js';
import { openTunnel, type Proxies, type Proxy, proxyFailure } from './proxies.js';

/** Sends one request. */
export interface Connection {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  /** Nothing more of the request is sent, also of what the operating system has taken and not sent yet, if it can be. */
  cut(): void;
  /** The address at the other end while it is connected, if it is known. */
  readonly peer?: string | undefined;
  /** The answer is complete. `isSent`: certainly the request as well. */
  end(isSent: boolean): void;
}

/** The connections of one kind. */
export interface Connections {
  /** The clients that may use a connection. */
  readonly slots: ConnectionSlots;
  open(origin: string): Connection;
  close(): Promise<void>;
}

export interface ConnectionsOptions {
  readonly connect: Connect;
  readonly perOrigin: number;
  readonly maxHeaderBytes: number;
  readonly keepAliveMs: number;
}

/** Connections that are kept, and serve one request after another. */
export function pooledConnections({
  connect,
  perOrigin,
  maxHeaderBytes,
  keepAliveMs,
}: ConnectionsOptions): Connections {
  let agent: Agent | undefined;
  const openAgent = (): Agent =>
    new (undici().Agent)({
      connect,
      connections: perOrigin,
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: 0,
      bodyTimeout: 0,
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
    });
  const connection: Connection = {
    dispatch: (options, handler) => void (agent ??= openAgent()).dispatch(options, handler),
    // The library destroys the connection of a request that is aborted.
    cut: () => undefined,
    end: () => undefined,
  };
  return { slots: new ConnectionSlots(perOrigin), open: () => connection, close: async () => agent?.destroy() };
}

/** A connection for each request, which ends with it. The library's client of one that ended well makes the next. */
export function ownConnections(options: ConnectionsOptions): Connections {
  const unused: OwnConnection[] = [];
  let isClosed = false;
  const keep = (ended: OwnConnection): void => {
    unused.push(ended);
    if (unused.length > MAX_UNUSED_CLIENTS || isClosed) unused.shift()?.discard();
  };
  return {
    slots: new ConnectionSlots(options.perOrigin),
    open(origin) {
      const index = unused.findLastIndex((one) => one.origin === origin);
      return unused.splice(index, index < 0 ? 0 : 1)[0] ?? new OwnConnection(origin, options, keep);
    },
    async close() {
      isClosed = true;
      for (const one of unused.splice(0)) one.discard();
    },
  };
}

/** They have no connections. */
const MAX_UNUSED_CLIENTS = 64;

class OwnConnection implements Connection {
  private readonly client: Client;
  private tcp: Socket | undefined;
  private isCut = false;

  constructor(
    readonly origin: string,
    { connect, maxHeaderBytes }: ConnectionsOptions,
    private readonly keep: (ended: OwnConnection) => void,
  ) {
    this.client = new (undici().Client)(origin, {
      connect: (options, callback) => connect(options, callback, (tcp) => this.has(tcp)),
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: 0,
      bodyTimeout: 0,
      // Each request says that the connection closes behind it.
      pipelining: 0,
    });
  }

  get peer(): string | undefined {
    return this.tcp?.remoteAddress;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.client.dispatch(options, handler);
  }

  /** A reset: closed in any other way, a connection sends first what the operating system has taken. */
  cut(): void {
    this.isCut = true;
    if (this.tcp?.connecting === false && !this.tcp.destroyed) this.tcp.resetAndDestroy();
    else this.tcp?.destroy();
    this.discard();
  }

  end(isSent: boolean): void {
    if (!isSent) return this.discard();
    // The library is calling this, and closes the connection after it.
    setImmediate(() => {
      this.tcp = undefined;
      this.keep(this);
    });
  }

  discard(): void {
    // The library may be calling this, and is not done with its connection.
    queueMicrotask(() => void this.client.destroy());
  }

  private has(tcp: Socket): void {
    this.tcp = tcp;
    if (this.isCut) tcp.destroy();
  }
}

/**
 * Limits the number of concurrent requests to one origin; the others are queued. A request that is aborted leaves the
 * queue without using a connection. In the library's own queue it would stay, and each abandoned request would close
 * the connection that it is given in the end.
 */
export class ConnectionSlots {
  private readonly queues = new Map<string, PQueue>();

  /** `perOrigin`: the connections that one origin may have. */
  constructor(private readonly perOrigin: number) {}

  /**
   * Calls `use` when a slot is free, which may be immediately. The slot is taken until the returned function is
   * called, which also ends the wait. `use` is not called after that.
   */
  take(origin: string, use: () => void): () => void {
    const queue = this.queueOf(origin);
    const waiting = new AbortController();
    let leave = (): void => waiting.abort();
    const slot = queue.add(
      () =>
        new Promise<void>((resolve) => {
          leave = resolve;
          use();
        }),
      { signal: waiting.signal },
    );
    const forget = (): void => {
      if (queue.size === 0 && queue.pending === 0) this.queues.delete(origin);
    };
    slot.then(forget, forget);
    return () => leave();
  }

  private queueOf(origin: string): PQueue {
    const queue = this.queues.get(origin) ?? new PQueue({ concurrency: this.perOrigin });
    this.queues.set(origin, queue);
    return queue;
  }
}

/** The state that undici keeps at a connection to parse its answers. */
interface Parser {
  paused: boolean;
  /** The status of the answer that is in progress; 0 without one. */
  readonly statusCode: number;
  shouldKeepAlive: boolean;
  resume(): void;
  onHeadersComplete(status: number, ...more: readonly unknown[]): unknown;
  onMessageComplete(): unknown;
  readonly ptr: unknown;
  readonly llhttp: { llhttp_resume(ptr: unknown): void };
}

/** The name of undici's own property. A test fails where a version has another one. */
const PARSER = 'parser';
/** The symbol of that property; undefined until a socket that has it was seen. */
let parserSymbol: symbol | undefined;

/**
 * undici 7 takes the end of a connection whose answer is held back for a mistake of its own, and throws where nobody
 * can catch it: nodejs/undici#5360. Every answer whose last piece its reader was not ready for ends like this. So the
 * parser continues before undici learns of the end; nothing more will come, so no more is held in memory.
 *
 * It also takes any end of a connection for the end of an answer that has no other, a reset or a call that was left
 * included. Then it throws in the same way, or reports a broken answer as whole. An answer on a connection that is kept
 * does not end with it, so these connections count as kept. `tcp` is the connection under TLS, or the same one. To be
 * called before undici has the socket.
 */
export function resumeAtEnd(socket: Socket, tcp: Socket): void {
  socket.on('end', () => {
    const parser = parserAt(socket);
    if (parser === undefined) return;
    if (parser.paused) resume(parser);
    if (parser.statusCode !== 0 && !parser.shouldKeepAlive && wasReset(tcp)) parser.shouldKeepAlive = true;
  });
  for (const event of ['error', 'close']) {
    socket.on(event, () => {
      const parser = parserAt(socket);
      if (parser !== undefined) parser.shouldKeepAlive = true;
    });
  }
}

/**
 * A client has to accept a 100 that it did not ask for (RFC 9110, 15.2), which some servers send before a long answer. undici
 * ends the connection at it, and accepts any other interim answer. To be called when undici has the socket.
 */
export function acceptContinue(socket: Socket): void {
  const parser = parserAt(socket);
  if (parser === undefined) return;
  const complete = parser.onHeadersComplete.bind(parser);
  parser.onHeadersComplete = (status, ...more) => complete(status === CONTINUE ? PROCESSING : status, ...more);
}

const [CONTINUE, PROCESSING] = [100, 102];

/**
 * undici closes a connection that is not kept with an error that nobody reads. Node asks for the error's stack, and to
 * record and format it takes longer than to parse the answer. To be called when undici has the socket.
 */
export function closeWithoutStack(socket: Socket): void {
  const parser = parserAt(socket);
  if (parser === undefined) return;
  const complete = parser.onMessageComplete.bind(parser);
  parser.onMessageComplete = () => {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      return complete();
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  };
}

function resume(parser: Parser): void {
  parser.resume();
  // An answer that ends with its connection waits for the end itself, with nothing left to parse.
  if (!parser.paused) return;
  parser.llhttp.llhttp_resume(parser.ptr);
  parser.paused = false;
}

/**
 * Whether a connection that Node says has ended was reset. When some of the last bytes were read together with a reset,
 * libuv reports an end and stops reading, and the error stays with the operating system: `uv__stream_io` of libuv, at
 * POLLHUP. A write of nothing sends nothing, and gets that error. Node replaces `write` of a socket that has ended.
 */
function wasReset(tcp: Socket): boolean {
  if (tcp.writable) Duplex.prototype.write.call(tcp, '', 'latin1');
  const { errored } = tcp;
  return errored !== null && 'code' in errored && errored.code === 'ECONNRESET';
}

function parserAt(socket: Socket): Parser | undefined {
  parserSymbol ??= Object.getOwnPropertySymbols(socket).find(({ description }) => description === PARSER);
  const parser: unknown =
    parserSymbol === undefined ? undefined : Object.getOwnPropertyDescriptor(socket, parserSymbol)?.value;
  return isParser(parser) ? parser : undefined;
}

function isParser(value: unknown): value is Parser {
  return (
    typeof value === 'object' &&
    value !== null &&
    'paused' in value &&
    'resume' in value &&
    'onHeadersComplete' in value &&
    'onMessageComplete' in value &&
    'llhttp' in value &&
    'statusCode' in value &&
    'shouldKeepAlive' in value
  );
}

/** A host's addresses, as `dns.lookup` gives them. No caller waits for them after the signal has fired. */
export type Resolver = (
  hostname: string,
  signal?: AbortSignal,
) => Promise<readonly { readonly address: string; readonly family: number }[]>;

export interface ConnectorOptions {
  readonly allow: AllowList;
  /** For each step: TCP, a proxy's tunnel, TLS. */
  readonly connectTimeoutMs: number;
  /** Trusted in addition to the machine's certificate authorities; undefined for only those. */
  readonly ca: readonly string[] | undefined;
  readonly resolve: Resolver | undefined;
  readonly proxies: Proxies | undefined;
}

/**
 * Makes a connection for a request of undici's. `onTcp` gets the TCP connection under it as soon as it exists, before it
 * is established.
 */
export type Connect = (
  options: buildConnector.Options,
  callback: buildConnector.Callback,
  onTcp?: (tcp: Socket) => void,
) => void;

/**
 * Makes connections to allowed addresses only. A name is resolved once for each connection, all its addresses are
 * checked, and the connection is made to one of these: what the name leads to a moment later does not matter. A proxy
 * resolves names itself: through one, only what the name says is checked. Certificates are always verified.
 */
export function guardedConnector(options: ConnectorOptions): Connect {
  const steps = new ConnectionSteps(options);
  const connect = callbackify(async (wanted: buildConnector.Options, onTcp: (tcp: Socket) => void) =>
    steps.connect(wanted, onTcp),
  );
  return (wanted, callback, onTcp = () => undefined) => {
    let tcp: Socket | undefined;
    const onMade = (made: Socket) => {
      tcp = made;
      onTcp(made);
    };
    connect(wanted, onMade, (error, socket) => {
      if (error) return callback(error, null);
      resumeAtEnd(socket, tcp ?? socket);
      callback(null, socket);
      acceptContinue(socket);
      closeWithoutStack(socket);
    });
  };
}

class ConnectionSteps {
  /** Connects to IP addresses, which need no checked lookup. */
  private connectTcp: buildConnector.connector | undefined;

  constructor(private readonly options: ConnectorOptions) {}

  async connect(wanted: buildConnector.Options, onTcp: (tcp: Socket) => void): Promise<Socket> {
    const target = targetOf(wanted);
    const { allow, proxies } = this.options;
    const literal = literalAddress(target.hostname);
    if (literal !== undefined) requireAllowed(allow, target, [literal]);
    const proxy = proxies?.for(target);
    if (proxy === undefined) return this.secured(wanted, target, await this.direct(target, onTcp));
    requireAllowedName(allow, target);
    return this.secured(wanted, target, await this.tunnelled(target, proxy, onTcp));
  }

  private async direct(target: Endpoint, onTcp: (tcp: Socket) => void): Promise<Socket> {
    const { allow, resolve = resolveBySystem } = this.options;
    let closed: AbortController | undefined;
    // Node looks no address up.
    const isAddress = isIP(target.hostname) !== 0;
    const lookup = isAddress
      ? undefined
      : guardedLookup(allow, target, (hostname) => resolve(hostname, (closed ??= new AbortController()).signal));
    const socket = await this.tcp(target, lookup, (tcp) => {
      // Without a reason, an error with its stack would be made.
      tcp.once('close', () => closed?.abort('closed'));
      onTcp(tcp);
    });
    const address = requireConnected(socket);
    try {
      requireAllowed(allow, target, [ipaddr.parse(address)]);
    } catch {
      socket.destroy();
      throw new AddressRefused('the connection goes to another address than the one that was checked');
    }
    return socket;
  }

  private async tunnelled(target: Endpoint, proxy: Proxy, onTcp: (tcp: Socket) => void): Promise<Socket> {
    const { connectTimeoutMs } = this.options;
    try {
      const plain = await this.tcp(proxy, undefined, onTcp);
      const socket = proxy.protocol === 'https:' ? await this.tls(proxy, proxy.hostname, plain) : plain;
      await openTunnel(socket, target, proxy.authorization, connectTimeoutMs);
      return socket;
    } catch (error) {
      throw proxyFailure(error);
    }
  }

  private async secured(wanted: buildConnector.Options, target: Endpoint, socket: Socket): Promise<Socket> {
    if (target.protocol === 'http:') return socket;
    const secured = await this.tls(target, wanted.servername, socket);
    requireConnected(secured);
    return secured;
  }

  private tcp(
    { hostname, port }: Endpoint,
    lookup: LookupFunction | undefined,
    onTcp: (tcp: Socket) => void,
  ): Promise<Socket> {
    const connect = lookup === undefined ? (this.connectTcp ??= this.tcpConnector()) : this.tcpConnector(lookup);
    return new Promise((resolve, reject) => {
      const begun: unknown = connect({ protocol: 'http:', hostname, port }, (error, socket) =>
        error === null ? resolve(socket) : reject(error),
      );
      if (begun instanceof Socket) onTcp(begun);
    });
  }

  private tcpConnector(lookup?: LookupFunction): buildConnector.connector {
    const { connectTimeoutMs } = this.options;
    const looking = lookup === undefined ? {} : { lookup };
    return undici().buildConnector({ timeout: connectTimeoutMs, autoSelectFamily: true, ...looking });
  }

  private tls({ hostname, port }: Endpoint, servername: string | undefined, httpSocket: Socket): Promise<Socket> {
    const { ca, connectTimeoutMs } = this.options;
    const connect = undici().buildConnector({
      timeout: connectTimeoutMs,
      rejectUnauthorized: true,
      ...(ca === undefined ? {} : { ca: [...ca] }),
    });
    return new Promise((resolve, reject) => {
      const name = isIP(hostname) === 0 ? (servername ?? hostname) : '';
      connect({ protocol: 'https:', hostname, port, servername: name, httpSocket }, (error, socket) =>
        error === null ? resolve(socket) : reject(error),
      );
    });
  }
}

/** The address at the other end. Throws for a connection that has ended already. */
function requireConnected(socket: Socket): string {
  const { remoteAddress } = socket;
  if (remoteAddress !== undefined) return remoteAddress;
  socket.destroy();
  throw Object.assign(new Error('The peer has reset the connection.'), { code: 'ECONNRESET' });
}

function targetOf({ protocol, hostname, port }: buildConnector.Options): Endpoint {
  const isTls = protocol === 'https:';
  return {
    protocol: isTls ? 'https:' : 'http:',
    hostname: literalAddress(hostname) ? hostname : (readHostname(hostname) ?? ''),
    port: port === '' ? (isTls ? '443' : '80') : port,
  };
}

/** It always returns a list, because callers that choose between IPv6 and IPv4 expect one. */
function guardedLookup(allow: AllowList, target: Endpoint, resolve: Resolver): LookupFunction {
  return (hostname, { all }, callback) => {
    const answer = async () => {
      const found = await resolve(hostname);
      if (found.length === 0) throw Object.assign(new Error('The name has no address.'), { code: 'ENOTFOUND' });
      requireAllowed(
        allow,
        target,
        found.map(({ address }) => parsed(address)),
      );
      return found.map(({ address, family }) => ({ address, family }));
    };
    callbackify(answer)((error, found) => {
      if (error) callback(error, '');
      else if (all === true) callback(null, found);
      else callback(null, found[0]?.address ?? '', found[0]?.family);
    });
  };
}

function parsed(address: string): ipaddr.IPv4 | ipaddr.IPv6 {
  if (!ipaddr.isValid(address)) throw new AddressRefused('the name resolves to something other than an address');
  return ipaddr.parse(address);
}

export function resolveBySystem(hostname: string): ReturnType<Resolver> {
  return systemLookup(hostname, { all: true, order: 'verbatim' });
}

/**
 * The trusted authorities: undefined means the machine's own alone, which any other list would replace. The authorities
 * in NODE_EXTRA_CA_CERTS are trusted in both cases.
 */
export function trustedAuthorities(extra: readonly string[] = []): readonly string[] | undefined {
  if (extra.length === 0) return undefined;
  // Releases of Node before 22.15 cannot say what they trust.
  const { getCACertificates } = tls as { readonly getCACertificates?: (kind: 'default') => string[] };
  const own = getCACertificates?.('default') ?? [...tls.rootCertificates, ...addedByEnvironment()];
  return [...own, ...extra];
}

/** Node has warned, when it was started, of a file that it cannot read. */
function addedByEnvironment(): readonly string[] {
  const path = process.env['NODE_EXTRA_CA_CERTS'] ?? '';
  try {
    return path === '' ? [] : [readFileSync(path, 'utf8')];
  } catch {
    return [];
  }
}

/** The time that a name server has for a response before the query is repeated, in milliseconds. */
const TIMEOUT_MS = 3_000;
const TRIES = 2;
/** The most names that are resolved at once for clients, which is fewer than for the whole process. */
const MAX_BY_SYSTEM = 1;
/** How many names wait for that. */
const MAX_WAITING_FOR_SYSTEM = 256;
/** Responses that mean that the name does not exist, or has no address of the requested kind. */
const NONE = ['ENOTFOUND', 'ENODATA'];

type Found = Awaited<ReturnType<Resolver>>;

export interface NameServersOptions {
  /** The operator's own names. */
  readonly allow: AllowList;
  /** Name servers, as `dns.setServers` takes them; the machine's own when absent. */
  readonly servers?: readonly string[];
  /** The machine's own resolution. */
  readonly system?: Resolver;
}

/**
 * Resolves names that clients choose. The machine's own resolution takes very few at once, so that a client whose name
 * server does not answer would hold up the names of all others: public names are asked of name servers directly, any number
 * at once. The machine resolves hosts that the operator lists, and names that no name server knows where networks are listed.
 */
export function byNameServers({ allow, servers, system = resolveBySystem }: NameServersOptions): Resolver {
  const others = new PQueue({ concurrency: MAX_BY_SYSTEM });
  return async (hostname, signal) => {
    if (allow.hasHostname(hostname)) return system(hostname);
    const isPublic = mayBePublic(hostname);
    const found = isPublic ? await ask(hostname, servers, signal) : [];
    if (found.length > 0 || !allow.hasNetworks) return found;
    if (others.size >= MAX_WAITING_FOR_SYSTEM)
      throw Object.assign(new Error('Too many names wait to be resolved.'), { code: 'EAI_AGAIN' });
    return inTurn(others, () => system(hostname), signal);
  };
}

/** The signal ends only the waiting: a lookup that has started keeps its slot until it ends. */
async function inTurn(queue: PQueue, resolve: () => Promise<Found>, signal: AbortSignal | undefined): Promise<Found> {
  const leaving = new AbortController();
  const leave = () => leaving.abort(signal?.reason);
  signal?.throwIfAborted();
  signal?.addEventListener('abort', leave, { once: true });
  const begin = () => {
    signal?.removeEventListener('abort', leave);
    return resolve();
  };
  return queue.add(begin, { signal: leaving.signal });
}

/**
 * Empty for a name without addresses. Throws where a name server gives no answer, and there is none by the other
 * either.
 */
async function ask(
  hostname: string,
  servers: readonly string[] | undefined,
  signal: AbortSignal | undefined,
): Promise<Found> {
  signal?.throwIfAborted();
  // A new one knows the name servers that the machine has now.
  const resolver = new NameServers({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  const cancel = () => resolver.cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  const asked = await Promise.allSettled([
    resolver.resolve6(hostname).then((all) => all.map((address) => ({ address, family: 6 }))),
    resolver.resolve4(hostname).then((all) => all.map((address) => ({ address, family: 4 }))),
  ]);
  signal?.removeEventListener('abort', cancel);
  const found = asked.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
  const failed = asked.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []));
  const [broken] = failed.filter((error) => !NONE.includes((error as NodeJS.ErrnoException).code ?? ''));
  if (found.length === 0 && broken !== undefined) throw broken;
  return found;
}
