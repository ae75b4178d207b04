// Goal: the end of a JPEG's entropy-coded data is found as the standard says.
// Method: a property over bytes of the values that matter, against a reading of one byte after another.
import { expect } from 'chai';
import fc from 'fast-check';
import { afterScan, standsAlone } from '../../../adapters/media/jpeg-file.js';

/** By ITU T.81, B.1.1.2 and B.1.1.5: bytes that are stuffed, restart markers and bytes that fill are a part of the data. */
function plainly(bytes: Buffer, from: number): number {
  for (let at = from; at + 1 < bytes.length; at += 1) {
    const following = bytes[at + 1]!;
    if (bytes[at] === 0xff && following !== 0x00 && following !== 0xff && !standsAlone(following)) return at;
  }
  return bytes.length;
}

describe('afterScan', () => {
  it('finds the first marker that is none of the data', () => {
    const byte = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(0xff, 0x00) },
      fc.constantFrom(0xd0, 0xd9, 0x01, 0x80),
    );
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 40 }), fc.nat(40), (values, from) => {
        const bytes = Buffer.from(values);
        expect(afterScan(bytes, from)).to.equal(plainly(bytes, from));
      }),
      { numRuns: 2_000 },
    );
  });
});
