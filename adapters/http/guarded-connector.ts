import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, Socket, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import { AddressRefused, requireAllowed, requireAllowedName } from './address-rules.js';
import { readHostname, type AllowList } from './allow-list.js';
import { acceptContinue, resumeAtEnd } from './paused-parser.js';
import type { Proxies, Proxy } from './proxy/proxies.js';
import { openTunnel, proxyFailure } from './proxy/tunnel.js';
import { literalAddress, type Endpoint } from './target.js';

/** A host's addresses, as `dns.lookup` gives them. Nobody waits for them once the signal has fired. */
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
  return (wanted, callback, onTcp = () => undefined) => {
    let tcp: Socket | undefined;
    const onMade = (made: Socket) => {
      tcp = made;
      onTcp(made);
    };
    callbackify(() => steps.connect(wanted, onMade))((error, socket) => {
      if (error) return callback(error, null);
      resumeAtEnd(socket, tcp ?? socket);
      callback(null, socket);
      acceptContinue(socket);
    });
  };
}

class ConnectionSteps {
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
    const closed = new AbortController();
    const lookup = guardedLookup(allow, target, (hostname) => resolve(hostname, closed.signal));
    const socket = await this.tcp(target, lookup, (tcp) => {
      tcp.once('close', () => closed.abort());
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
    const connect = buildConnector({
      timeout: this.options.connectTimeoutMs,
      autoSelectFamily: true,
      ...(lookup === undefined ? {} : { lookup }),
    });
    return new Promise((resolve, reject) => {
      const begun: unknown = connect({ protocol: 'http:', hostname, port }, (error, socket) =>
        error === null ? resolve(socket) : reject(error),
      );
      if (begun instanceof Socket) onTcp(begun);
    });
  }

  private tls({ hostname, port }: Endpoint, servername: string | undefined, httpSocket: Socket): Promise<Socket> {
    const { ca, connectTimeoutMs } = this.options;
    const connect = buildConnector({
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

/** It always answers with a list, as callers expect that choose between IPv6 and IPv4. */
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
