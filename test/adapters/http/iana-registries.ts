/**
 * The special-purpose address registries of IANA (iana-ipv4-special-registry, iana-ipv6-special-registry) and the
 * multicast and reserved blocks beside them, as they are published: each block's first and last address, and whether it
 * is globally reachable. Written out by hand, apart from the adapter's own table.
 */
export const IPV4_BLOCKS: readonly (readonly [first: string, last: string, isGlobal: boolean])[] = [
  ['0.0.0.0', '0.255.255.255', false],
  ['10.0.0.0', '10.255.255.255', false],
  ['100.64.0.0', '100.127.255.255', false],
  ['127.0.0.0', '127.255.255.255', false],
  ['169.254.0.0', '169.254.255.255', false],
  ['172.16.0.0', '172.31.255.255', false],
  ['192.0.0.0', '192.0.0.8', false],
  ['192.0.0.11', '192.0.0.255', false],
  ['192.0.2.0', '192.0.2.255', false],
  ['192.168.0.0', '192.168.255.255', false],
  ['198.18.0.0', '198.19.255.255', false],
  ['198.51.100.0', '198.51.100.255', false],
  ['203.0.113.0', '203.0.113.255', false],
  ['224.0.0.0', '239.255.255.255', false],
  ['240.0.0.0', '255.255.255.255', false],
  ['1.0.0.0', '9.255.255.255', true],
  ['11.0.0.0', '100.63.255.255', true],
  ['100.128.0.0', '126.255.255.255', true],
  ['128.0.0.0', '168.63.129.15', true],
  ['168.63.129.17', '169.253.255.255', true],
  ['169.255.0.0', '172.15.255.255', true],
  ['172.32.0.0', '191.255.255.255', true],
  ['192.0.1.0', '192.0.1.255', true],
  ['192.0.3.0', '192.88.98.255', true],
  ['192.88.100.0', '192.167.255.255', true],
  ['192.169.0.0', '198.17.255.255', true],
  ['198.20.0.0', '198.51.99.255', true],
  ['198.51.101.0', '203.0.112.255', true],
  ['203.0.114.0', '223.255.255.255', true],
];

export const IPV6_BLOCKS: readonly (readonly [first: string, last: string, isGlobal: boolean])[] = [
  ['::', '::', false],
  ['::1', '::1', false],
  // IPv4-compatible, deprecated.
  ['::2', '::ffff:ffff', false],
  // IPv4-translated.
  ['::ffff:0:0:0', '::ffff:0:ffff:ffff', false],
  // NAT64 for local use.
  ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff', false],
  ['100::', '100::ffff:ffff:ffff:ffff', false],
  ['100:0:0:1::', '100:0:0:1:ffff:ffff:ffff:ffff', false],
  // Teredo, benchmarks, ORCHID, documentation.
  ['2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['2001:2::', '2001:2:0:ffff:ffff:ffff:ffff:ffff', false],
  ['2001:10::', '2001:1f:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false],
  // Assigned to no registry of addresses.
  ['4000::', '5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['6000::', 'fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['2001:200::', '2001:db7:ffff:ffff:ffff:ffff:ffff:ffff', true],
  ['2001:db9::', '2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff', true],
  ['2003::', '3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff', true],
];
