/*
 * Goal: nothing is sent to an address that is not globally reachable, however the address is written or wrapped into another one.
 * Method: addresses drawn from IANA's registries, written out independently, in every form that leads to them; properties print
 * their seed.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { specialAddress } from '../../../adapters/http/allow-list.js';
import { IPV4_BLOCKS, IPV6_BLOCKS } from './iana-registries.js';

/** Addresses as numbers, by arithmetic of this test's own. */
function v4Number(address: string): bigint {
  return address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

function v6Number(address: string): bigint {
  const [head = '', tail] = address.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => '0'), ...after];
  return all.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

function v4Text(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.');
}

function v6Text(value: bigint): string {
  return Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 65_535n).toString(16)).join(
    ':',
  );
}

const within = ([first, last]: readonly [bigint, bigint]) =>
  fc.oneof(fc.bigInt(first, last), fc.constantFrom(first, last));
const v4In = (isGlobal: boolean) =>
  fc
    .constantFrom(...IPV4_BLOCKS.filter((block) => block[2] === isGlobal))
    .chain(([first, last]) => within([v4Number(first), v4Number(last)]));
const v6In = (isGlobal: boolean) =>
  fc
    .constantFrom(...IPV6_BLOCKS.filter((block) => block[2] === isGlobal))
    .chain(([first, last]) => within([v6Number(first), v6Number(last)]));

/** IPv6 addresses that lead to an IPv4 one. */
const WRAPPINGS: readonly (readonly [string, (v4: bigint) => bigint])[] = [
  ['mapped', (v4) => (0xffffn << 32n) + v4],
  ['NAT64', (v4) => v6Number('64:ff9b::') + v4],
  ['6to4', (v4) => (0x2002n << 112n) + (v4 << 80n) + 1n],
];

const isRefused = (address: string) => specialAddress(ipaddr.parse(address)) !== undefined;

describe('special addresses', () => {
  it('have every address of IPv4 that is not globally reachable, and no other', () => {
    fc.assert(
      fc.property(v4In(false), (value) => isRefused(v4Text(value))),
      { numRuns: 2_000 },
    );
    fc.assert(
      fc.property(v4In(true), (value) => !isRefused(v4Text(value))),
      { numRuns: 2_000 },
    );
  });

  it('have every address of IPv6 that is not globally reachable, and no other', () => {
    fc.assert(
      fc.property(v6In(false), (value) => isRefused(v6Text(value))),
      { numRuns: 2_000 },
    );
    fc.assert(
      fc.property(v6In(true), (value) => !isRefused(v6Text(value))),
      { numRuns: 2_000 },
    );
  });

  for (const [form, wrap] of WRAPPINGS) {
    it(`have a ${form} address exactly when they have the IPv4 address within`, () => {
      fc.assert(
        fc.property(v4In(false), (value) => isRefused(v6Text(wrap(value)))),
        { numRuns: 2_000 },
      );
      fc.assert(
        fc.property(v4In(true), (value) => !isRefused(v6Text(wrap(value)))),
        { numRuns: 2_000 },
      );
    });
  }

  it('name the kind of an address', () => {
    const known = {
      '10.1.2.3': 'a private address',
      '127.0.0.1': 'a loopback address',
      '169.254.169.254': 'a link-local address',
      '100.100.100.200': "a carrier's shared address",
      '168.63.129.16': 'an address of a cloud platform',
      '::1': 'a loopback address',
      '::ffff:127.0.0.1': 'a loopback address',
      'fd00:ec2::254': 'a private address',
      'fe80::1%2': 'a link-local address',
    };
    for (const [address, what] of Object.entries(known))
      expect(specialAddress(ipaddr.parse(address)), address).to.equal(what);
    for (const address of ['8.8.8.8', '2606:4700:4700::1111', '64:ff9b::808:808'])
      expect(specialAddress(ipaddr.parse(address)), address).to.equal(undefined);
  });
});
