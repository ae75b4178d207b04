import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';
import { isWithin, type Network, type NetworkAddress } from './special-addresses.js';

interface ListedHost {
  readonly hostname: string;
  readonly port: string | undefined;
}

/**
 * What an operator lets this client reach in addition to the public internet. An entry is a network (`10.0.0.0/8`), or
 * a host by name or address, with a port or without (`comfyui.internal:8188`, `[::1]:8188`). A listed host may have any
 * address; in a listed network any host may be reached. Both may be called without TLS.
 */
export class AllowList {
  private readonly networks: readonly Network[];
  private readonly hosts: readonly ListedHost[];

  /** Throws a `RangeError` that names the entry it cannot read. */
  constructor(entries: readonly string[]) {
    this.networks = entries.filter((entry) => entry.includes('/')).map(networkOf);
    this.hosts = entries.filter((entry) => !entry.includes('/')).map(hostOf);
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

function hostOf(entry: string): ListedHost {
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
