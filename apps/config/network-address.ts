import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

/**
 * The network that identifies a client: its IPv4 address, or the /64 of its IPv6 address, because a client may use
 * any address within it. An IPv4-mapped IPv6 address counts as the IPv4 address. Undefined for a text that is not an
 * address.
 */
export function networkOf(address: string): string | undefined {
  const plain = unmapped(address);
  if (isIPv4(plain)) return plain;
  return isIPv6(plain)
    ? `${groupsOf(plain)
        .slice(0, 4)
        .map((group) => group.toString(16))
        .join(':')}::/64`
    : undefined;
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
      const [written = '', prefix] = network.split('/');
      const address = prefix === undefined ? unmapped(written) : written;
      const family = isIPv4(address) ? 'ipv4' : 'ipv6';
      if (prefix === undefined) this.list.addAddress(address, family);
      else this.list.addSubnet(address, Number(prefix), family);
    }
  }

  has(address: string): boolean {
    const plain = unmapped(address);
    return isIP(plain) !== 0 && this.list.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');
  }
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether a host is this machine only, so that no third party can read the traffic. */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return LOOPBACK.check(host, 'ipv4');
  return isIPv6(host) ? LOOPBACK.check(host, 'ipv6') : host === 'localhost';
}

/** `host:port` as in a URL: an IPv6 address stands in brackets. */
export function hostAndPort({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Without the zone of a link-local address; as IPv4 if it is an IPv4-mapped address. */
function unmapped(address: string): string {
  const [plain = ''] = address.split('%', 1);
  if (!isIPv6(plain)) return plain;
  const groups = groupsOf(plain);
  if (groups.slice(0, 5).some((group) => group !== 0) || groups[5] !== 0xffff) return plain;
  const [high = 0, low = 0] = groups.slice(6);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** The eight numbers of an IPv6 address, whichever way it is written. */
function groupsOf(address: string): number[] {
  const [head = [], tail] = address.split('::', 2).map(numbersOf);
  if (tail === undefined) return [...head];
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
}

function numbersOf(part: string): number[] {
  return part
    .split(':')
    .filter((group) => group !== '')
    .flatMap((group) => {
      if (!group.includes('.')) return [Number.parseInt(group, 16)];
      const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
      return [a * 256 + b, c * 256 + d];
    });
}
