import ipaddr from 'ipaddr.js';

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
 * Where an IPv6 address carries the IPv4 address that packets go to in the end: the network, and the first of its four
 * bytes.
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

/** What a special address is, or undefined for one that anything may be sent to. */
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
