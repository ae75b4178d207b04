import ipaddr from 'ipaddr.js';
import { BlockList, isIP, isIPv4 } from 'node:net';

/**
 * The network that identifies a client: its IPv4 address, or the /64 of its IPv6 address, because a client may use
 * any address within it. An IPv4-mapped IPv6 address counts as the IPv4 address. Undefined for a text that is not an
 * address.
 */
export function networkOf(text: string): string | undefined {
  const address = addressOf(text);
  if (address === undefined || address instanceof ipaddr.IPv4) return address?.toString();
  const groups = address.parts.slice(0, 4).map((group) => group.toString(16));
  return `${groups.join(':')}::/64`;
}

/**
 * The block that the network of a client, as `networkOf` has it, was given out with: the /48 of an IPv6 address, since
 * a site usually has one, or the IPv4 address itself. Other texts stay as they are.
 */
export function blockOf(network: string): string {
  const [, site] = /^([0-9a-f]+:[0-9a-f]+:[0-9a-f]+):[0-9a-f]+::\/64$/.exec(network) ?? [];
  return site === undefined ? network : `${site}::/48`;
}

/** Whether a text is an address, or a network as `10.0.0.0/8`. */
export function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  if (isIP(address) === 0 || address.includes('%') || more.length > 0) return false;
  return prefix === undefined || (/^[0-9]{1,3}$/.test(prefix) && Number(prefix) <= (isIPv4(address) ? 32 : 128));
}

/** Addresses and networks, to look an address up in. */
export class Networks {
  private readonly list = new BlockList();

  /** Each must be a network as `isNetwork` has it. */
  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const [address = '', prefix] = network.split('/');
      const family = isIPv4(address) ? 'ipv4' : 'ipv6';
      if (prefix === undefined) this.list.addAddress(address, family);
      else this.list.addSubnet(address, Number(prefix), family);
    }
  }

  has(text: string): boolean {
    const address = addressOf(text);
    return address !== undefined && this.list.check(address.toString(), address.kind());
  }
}

/** Whether a host is this machine only, so that no third party can read the traffic. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || addressOf(host)?.range() === 'loopback';
}

/** Whether a host stands for all addresses of a machine, such as `0.0.0.0` and `::`, so that no client can call it. */
export function isUnspecified(host: string): boolean {
  return addressOf(host)?.range() === 'unspecified';
}

/** The names by which browsers of this machine reach it. */
const OWN_NAMES = ['localhost', '127.0.0.1', '[::1]'];

/**
 * The origins of the service at this public address. An address of this machine without TLS has several, one for each name
 * of the machine: programs use one, such as the issuer of tokens, and people may type another.
 */
export function ownOrigins(publicUrl: string): readonly string[] {
  const { origin } = new URL(publicUrl);
  return isOnThisMachine(publicUrl) ? OWN_NAMES.map((name) => named(origin, name)) : [origin];
}

/**
 * The public address as a person should open it: on this machine with the name `localhost`, since browsers keep no passkeys
 * for a number. Without a slash at the end.
 */
export function browserUrl(publicUrl: string): string {
  return isOnThisMachine(publicUrl) ? named(publicUrl, 'localhost') : publicUrl;
}

/** The origin of a request with this Host header; that of the public address if the header has another host, such as a proxy's. */
export function originOf(host: string | undefined, publicUrl: string): string {
  const asked = `http://${host ?? ''}`;
  return ownOrigins(publicUrl).find((origin) => origin === asked) ?? new URL(publicUrl).origin;
}

/**
 * The other origin under which a browser may have begun a sign-in that returns to the public address: `localhost` if that has
 * the number, and the number if it has `localhost`. Undefined for any other public address or Host header.
 */
export function otherOrigin(host: string | undefined, publicUrl: string): string | undefined {
  const { origin, hostname } = new URL(publicUrl);
  if (!isOnThisMachine(publicUrl) || `http://${host ?? ''}` !== origin) return undefined;
  return named(origin, hostname === 'localhost' ? '127.0.0.1' : 'localhost');
}

function isOnThisMachine(publicUrl: string): boolean {
  const { protocol, hostname } = new URL(publicUrl);
  return protocol === 'http:' && OWN_NAMES.includes(hostname);
}

function named(url: string, hostname: string): string {
  const renamed = new URL(url);
  renamed.hostname = hostname;
  return renamed.href.replace(/\/$/, '');
}

/** `host:port` as in a URL: an IPv6 address stands in brackets. */
export function hostAndPort({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * Without the zone of a link-local address; as IPv4 if it is an IPv4-mapped address. `URL` writes an IPv6 address without
 * dots: the library takes `::127.0.0.1`, which is another address, for an IPv4-mapped one.
 */
function addressOf(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const [address = ''] = text.split('%', 1);
  if (isIPv4(address)) return ipaddr.IPv4.parse(address);
  return isIP(address) === 0 ? undefined : ipaddr.process(new URL(`http://[${address}]`).hostname.slice(1, -1));
}
