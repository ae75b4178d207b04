import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { HttpError } from './http-error.js';

/**
 * The destinations that an operator allows for this client in addition to the public internet. An entry is a network
 * (`10.0.0.0/8`), or a host by name or address, with a port or without (`comfyui.internal:8188`, `[::1]:8188`). A
 * listed host may have any address; in a listed network any host may be reached. Both may be called without TLS.
 */
export class AllowList {
  private readonly networks: readonly Network[];
  private readonly hosts: readonly AllowedHost[];

  /** Throws a `RangeError` that names the entry it cannot read. */
  constructor(entries: readonly string[]) {
    this.networks = entries.filter((entry) => entry.includes('/')).map(networkOf);
    this.hosts = entries.filter((entry) => !entry.includes('/')).map(allowedHost);
  }

  /** Whether a name may lead to a listed network. */
  get hasNetworks(): boolean {
    return this.networks.length > 0;
  }

  /** `hostname` is as in a target: lower case, without brackets. */
  hasHost(hostname: string, port: string): boolean {
    return this.hosts.some((host) => host.hostname === hostname && (host.port === undefined || host.port === port));
  }

  /** With some port. */
  hasHostname(hostname: string): boolean {
    return this.hosts.some((host) => host.hostname === hostname);
  }

  hasAddress(address: NetworkAddress): boolean {
    const known =
      address.kind() === 'ipv6' && (address as ipaddr.IPv6).isIPv4MappedAddress()
        ? (address as ipaddr.IPv6).toIPv4Address()
        : address;
    return this.networks.some((network) => isWithin(known, network));
  }
}

interface AllowedHost {
  readonly hostname: string;
  readonly port: string | undefined;
}

function networkOf(entry: string): Network {
  const [address = '', bits = '', ...rest] = entry.split('/');
  const most = isIP(address) === 4 ? 32 : 128;
  if (
    isIP(address) === 0 ||
    address.includes('%') ||
    rest.length > 0 ||
    !/^\d{1,3}$/.test(bits) ||
    Number(bits) > most
  ) {
    throw new RangeError(`${entry} is no network; write an address and a number of bits, such as 10.0.0.0/8.`);
  }
  return ipaddr.parseCIDR(entry);
}

function allowedHost(entry: string): AllowedHost {
  if (isIP(entry) === 6 && !entry.includes('%')) return { hostname: ipaddr.parse(entry).toString(), port: undefined };
  const [, host = '', port] = /^(\[[^\]]+\]|[^:[\]@?#\s\\]+)(?::(\d{1,5}))?$/.exec(entry) ?? [];
  const hostname = readHostname(host);
  if (hostname === undefined || (port !== undefined && (Number(port) < 1 || Number(port) > 65_535))) {
    throw new RangeError(`${entry} is no host; write a name or an address, and a port after a colon where it matters.`);
  }
  return { hostname, port: port === undefined ? undefined : String(Number(port)) };
}

/**
 * One spelling for each host, as URLs have it: lower case, ASCII, addresses in their shortest form, without brackets or
 * a dot at the end.
 */
export function readHostname(host: string): string | undefined {
  if (host.startsWith('[')) {
    const inner = host.slice(1, -1);
    return isIP(inner) === 6 && !inner.includes('%') ? ipaddr.parse(inner).toString() : undefined;
  }
  const ascii = domainToASCII(host.replace(/\.$/, ''));
  return ascii === '' || ascii.endsWith('.') ? undefined : ascii;
}

/** A host and a port of it, in canonical form. */
export interface Endpoint {
  readonly protocol: 'http:' | 'https:';
  /** Lower case and ASCII, without brackets or a dot at the end. */
  readonly hostname: string;
  /** Also where it is the protocol's own. */
  readonly port: string;
}

/** The target of a request, in canonical form. */
export interface Target extends Endpoint {
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  /** The address without query and user information: what may be logged, unless its path may be a secret. */
  readonly shown: string;
}

/**
 * Reads an address, or throws `HttpError` with `refused-address`; what cannot be read is not repeated in the message.
 */
export function readTarget(address: string | URL, base?: Target): Target {
  let url: URL;
  try {
    url = new URL(address, base && base.origin + base.path);
  } catch {
    throw refusedTarget('The address is no URL.');
  }
  const { protocol } = url;
  if (protocol !== 'https:' && protocol !== 'http:')
    throw refusedTarget(`An address must be https, not ${protocol.slice(0, 20)}`);
  if (url.username !== '' || url.password !== '')
    throw refusedTarget('An address must not carry a user name or a password; send them in a header.');
  const hostname = readHostname(url.hostname);
  if (hostname === undefined) throw refusedTarget('The host of the address is no name.');
  const port = url.port === '' ? defaultPortOf(protocol) : url.port;
  const host = hostname.includes(':') ? `[${hostname}]` : hostname;
  const origin = `${protocol}//${host}${url.port === '' ? '' : `:${url.port}`}`;
  return { protocol, hostname, port, origin, path: url.pathname + url.search, shown: origin + url.pathname };
}

/**
 * Throws unless every address that a target's name resolves to is allowed: an attacker mixes one internal address with
 * public ones.
 */
export function requireAllowed(
  allow: AllowList,
  { protocol, hostname, port }: Endpoint,
  addresses: readonly NetworkAddress[],
): void {
  if (allow.hasHost(hostname, port)) return;
  for (const address of addresses) {
    if (allow.hasAddress(address)) continue;
    const special = specialAddress(address);
    if (special !== undefined) throw new AddressRefused(`the host is at ${special}, which is not listed`);
    if (protocol !== 'https:') throw new AddressRefused('only listed hosts may be called without TLS');
  }
}

/**
 * Throws unless a target may be called through a proxy. The proxy resolves its name, so a name of a local network is refused:
 * it would be the proxy's network. A name of the public internet may lead there as well; to prevent that is up to the
 * proxy.
 */
export function requireAllowedName(allow: AllowList, { protocol, hostname, port }: Endpoint): void {
  if (allow.hasHost(hostname, port) || literalAddress(hostname) !== undefined) return;
  if (LOCAL_NAME.test(hostname))
    throw new AddressRefused('the host has a name of a local network, which is not listed');
  if (protocol !== 'https:') throw new AddressRefused('only listed hosts may be called without TLS');
}

/**
 * Whether a target that a client chose may be called, as far as it says itself; where its name leads to is checked when it
 * is called. An address in place of a name must be listed, whatever it is.
 */
export function mayBeCalled(allow: AllowList, { protocol, hostname, port }: Endpoint): boolean {
  if (allow.hasHost(hostname, port)) return true;
  const literal = literalAddress(hostname);
  if (literal !== undefined) return allow.hasAddress(literal);
  return allow.hasNetworks || (protocol === 'https:' && mayBePublic(hostname));
}

/** Thrown while a connection is made; the request that waits for it turns it into an `HttpError`. */
export class AddressRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AddressRefused';
  }
}

/** Names that are never of the public internet (RFC 6761, 6762 and 8375, and ICANN's `internal`), and names without a dot. */
const LOCAL_NAME = /^[^.]*$|(?:^|\.)(?:localhost|local|internal|home\.arpa)$/;

/** Whether a host may be on the public internet, as its name or its address alone says. */
export function mayBePublic(hostname: string): boolean {
  const literal = literalAddress(hostname);
  return literal === undefined ? !LOCAL_NAME.test(hostname) : specialAddress(literal) === undefined;
}

export type NetworkAddress = ipaddr.IPv4 | ipaddr.IPv6;

export type Network = ReturnType<typeof ipaddr.parseCIDR>;

type Networks = readonly (readonly [network: Network, what: string])[];

/**
 * Networks of IANA's registries of special-purpose and of multicast addresses that nothing is sent to. The few
 * addresses within them that are globally reachable, anycast for protocols of the network itself, are refused too.
 */
const REFUSED_V4: Networks = networks([
  ['0.0.0.0/8', 'an address of this network'],
  ['10.0.0.0/8', 'a private address'],
  ['100.64.0.0/10', "a carrier's shared address"],
  ['127.0.0.0/8', 'a loopback address'],
  ['169.254.0.0/16', 'a link-local address'],
  ['172.16.0.0/12', 'a private address'],
  ['192.0.0.0/24', 'an address for protocol assignments'],
  ['192.0.2.0/24', 'an address for documentation'],
  ['192.88.99.0/24', 'a 6to4 relay'],
  ['192.168.0.0/16', 'a private address'],
  ['198.18.0.0/15', 'an address for benchmarks'],
  ['198.51.100.0/24', 'an address for documentation'],
  ['203.0.113.0/24', 'an address for documentation'],
  ['224.0.0.0/4', 'a multicast address'],
  ['240.0.0.0/4', 'a reserved address'],
  // Not in the registries: a cloud's own services answer there, to its machines alone.
  ['168.63.129.16/32', 'an address of a cloud platform'],
]);

/** Within global unicast; all outside of it is refused. */
const REFUSED_V6: Networks = networks([
  ['2001::/23', 'an address for protocol assignments'],
  ['2001:db8::/32', 'an address for documentation'],
  ['3fff::/20', 'an address for documentation'],
]);

/**
 * IPv6 networks whose addresses contain the IPv4 address that packets finally go to: the network, and the index of its
 * first byte.
 */
const EMBEDDED_V4 = (
  [
    ['::ffff:0:0/96', 12],
    ['64:ff9b::/96', 12],
    ['2002::/16', 2],
  ] as const
).map(([network, firstByte]) => [ipaddr.IPv6.parseCIDR(network), firstByte] as const);

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

const NAMES_V6: Networks = networks([
  ['::/128', 'the unspecified address'],
  ['::1/128', 'a loopback address'],
  ['fc00::/7', 'a private address'],
  ['fe80::/10', 'a link-local address'],
  ['fec0::/10', 'a private address'],
  ['ff00::/8', 'a multicast address'],
]);

/** The kind of a special address, or undefined for one that anything may be sent to. */
export function specialAddress(address: NetworkAddress): string | undefined {
  if (address.kind() === 'ipv4') return nameIn(REFUSED_V4, address);
  const v6 = address as ipaddr.IPv6;
  const embedded = embeddedAddress(v6);
  if (embedded !== undefined) return specialAddress(embedded);
  if (!v6.match(GLOBAL_UNICAST)) return nameIn(NAMES_V6, v6) ?? 'a reserved address';
  return nameIn(REFUSED_V6, v6);
}

/** The IPv4 address within a mapped, NAT64 or 6to4 one. */
function embeddedAddress(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  for (const [network, firstByte] of EMBEDDED_V4) {
    if (address.match(network)) return new ipaddr.IPv4(address.toByteArray().slice(firstByte, firstByte + 4));
  }
  return undefined;
}

function nameIn(among: Networks, address: NetworkAddress): string | undefined {
  return among.find(([network]) => isWithin(address, network))?.[1];
}

function networks(listed: readonly (readonly [network: string, what: string])[]): Networks {
  return listed.map(([network, what]) => [ipaddr.parseCIDR(network), what]);
}

export function isWithin(address: NetworkAddress, network: Network): boolean {
  return address.kind() === network[0].kind() && address.match(network);
}

/** The address a host name is, where it is one. */
export function literalAddress(hostname: string): NetworkAddress | undefined {
  return isIP(hostname) === 0 ? undefined : ipaddr.parse(hostname);
}

function defaultPortOf(protocol: Target['protocol']): string {
  return protocol === 'https:' ? '443' : '80';
}

function refusedTarget(message: string): HttpError {
  return new HttpError('refused-address', message, { requestSent: false });
}

interface ListedHost {
  /** Without the dot of a suffix. */
  readonly hostname: string;
  readonly isSuffix: boolean;
  readonly port: string;
}

/**
 * Hosts outside an instance that its answers may point to, always over https. An entry is a name (`cdn.example.com`), or a
 * suffix that begins with a dot and means all names below it, but not itself (`.example.com`); with a port, or for 443.
 */
export class ListedHosts {
  private readonly hosts: readonly ListedHost[];

  /** Throws a `RangeError` that names the entry it cannot read. */
  constructor(entries: readonly string[]) {
    this.hosts = entries.map(listedHost);
  }

  has({ protocol, hostname, port }: Endpoint): boolean {
    return (
      protocol === 'https:' &&
      this.hosts.some(
        (host) => host.port === port && (host.isSuffix ? isBelow(hostname, host) : hostname === host.hostname),
      )
    );
  }
}

function isBelow(hostname: string, suffix: ListedHost): boolean {
  return hostname.endsWith(`.${suffix.hostname}`) && hostname.length > suffix.hostname.length + 1;
}

function listedHost(entry: string): ListedHost {
  const [, dot = '', name = '', port = '443'] =
    /^(\.?)(\[[^\]]+\]|[^.:[\]@?#/\\*\s][^:[\]@?#/\\*\s]*)(?::(\d{1,5}))?$/.exec(entry) ?? [];
  const hostname = name === '' ? undefined : readHostname(name);
  const isSuffix = dot !== '';
  if (hostname === undefined || (isSuffix && isIP(hostname) !== 0) || Number(port) < 1 || Number(port) > 65_535)
    throw new RangeError(
      `${entry} is no host; write a name, or a dot and a name for all hosts below it, and a port after a colon unless it is 443.`,
    );
  return { hostname, isSuffix, port: String(Number(port)) };
}
