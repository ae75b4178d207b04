// Goal: one client is identified as one however its address is written, and two clients as two.
// Method: properties over addresses that are made of numbers and written in every allowed way; networks are compared
// with arithmetic on those numbers. Failures print their seed.
import { expect } from 'chai';
import fc from 'fast-check';
import { isNetwork, networkOf, Networks } from '../../../apps/config/network-address.js';

const ipv4 = fc.tuple(...Array.from({ length: 4 }, () => fc.nat(255))) as fc.Arbitrary<
  [number, number, number, number]
>;
const groups = fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 });

/** Any spelling of eight groups: capitals, leading zeros, one run of zeros left out, the last two as IPv4. */
const spelled = (numbers: readonly number[]) =>
  fc
    .record({ inCapitals: fc.boolean(), width: fc.integer({ min: 1, max: 4 }), from: fc.nat(7), dotted: fc.boolean() })
    .map(({ inCapitals, width, from, dotted }) => {
      const written = numbers.map((group) => group.toString(16).padStart(width, '0'));
      const [high = 0, low = 0] = numbers.slice(6);
      if (dotted) written.splice(6, 2, [high >> 8, high & 255, low >> 8, low & 255].join('.'));
      let until = from;
      while (until < (dotted ? 6 : 8) && numbers[until] === 0) until += 1;
      const text =
        until === from ? written.join(':') : `${written.slice(0, from).join(':')}::${written.slice(until).join(':')}`;
      return inCapitals ? text.toUpperCase() : text;
    });

const isMapped = (numbers: readonly number[]) =>
  numbers.slice(0, 5).every((group) => group === 0) && numbers[5] === 0xffff;

describe('the network of a client', () => {
  it('is the /64 of an IPv6 address, in any spelling', () => {
    fc.assert(
      fc.property(
        groups
          .filter((numbers) => !isMapped(numbers))
          .chain((numbers) => fc.tuple(fc.constant(numbers), spelled(numbers))),
        ([numbers, text]) => {
          expect(networkOf(text), text).to.equal(
            `${numbers
              .slice(0, 4)
              .map((group) => group.toString(16))
              .join(':')}::/64`,
          );
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('is the IPv4 address, also within IPv6', () => {
    fc.assert(
      fc.property(
        ipv4.chain((bytes) =>
          fc.tuple(
            fc.constant(bytes),
            spelled([0, 0, 0, 0, 0, 0xffff, bytes[0] * 256 + bytes[1], bytes[2] * 256 + bytes[3]]),
          ),
        ),
        ([bytes, mapped]) => {
          expect([networkOf(bytes.join('.')), networkOf(mapped)], mapped).to.deep.equal([
            bytes.join('.'),
            bytes.join('.'),
          ]);
        },
      ),
    );
  });

  it('omits the zone, and is none for a text that is not an address', () => {
    expect(networkOf('fe80::1%eth0')).to.equal('fe80:0:0:0::/64');
    for (const text of ['', 'x', '1.2.3', '1.2.3.4:80', '[::1]', '1.2.3.4/8', '::1::', 'unknown'])
      expect(networkOf(text), text).to.equal(undefined);
  });
});

describe('a list of networks', () => {
  it('includes addresses that begin with the bits of one of them', () => {
    fc.assert(
      fc.property(ipv4, ipv4, fc.integer({ min: 0, max: 32 }), (network, address, prefix) => {
        const bits = (bytes: readonly number[]) =>
          bytes
            .map((byte) => byte.toString(2).padStart(8, '0'))
            .join('')
            .slice(0, prefix);
        const list = new Networks(['2001:db8::/32', `${network.join('.')}/${prefix}`]);
        expect(list.has(address.join('.'))).to.equal(bits(network) === bits(address));
        expect(list.has(`::ffff:${address.join('.')}`)).to.equal(bits(network) === bits(address));
      }),
    );
  });

  it('includes single addresses, in any spelling', () => {
    const list = new Networks(['::ffff:10.0.0.1', '2001:DB8:0::1', '2001:db8:1::/48']);
    for (const address of ['10.0.0.1', '::ffff:a00:1', '2001:db8::1', '2001:db8:1:ffff::9'])
      expect(list.has(address), address).to.equal(true);
    for (const address of ['10.0.0.2', '2001:db8::2', '2001:db8:2::', '', 'x', '10.0.0.1, 10.0.0.1'])
      expect(list.has(address), address).to.equal(false);
    expect(new Networks([]).has('127.0.0.1')).to.equal(false);
  });

  it('accepts only addresses and networks', () => {
    for (const text of ['0.0.0.0/0', '10.0.0.0/8', '10.1.2.3', '::/0', 'fd00::/8', '::1/128'])
      expect(isNetwork(text), text).to.equal(true);
    for (const text of [
      '',
      '10.0.0.0/33',
      '::1/129',
      '10.0.0/8',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      'localhost',
      '*',
      'fe80::1%eth0',
      '1.2.3.4/-1',
      '1.2.3.4/+1',
    ])
      expect(isNetwork(text), text).to.equal(false);
  });
});
