// Goal: an API key has the promised format and carries all of its 32 bytes; a mistyped key is detected without a
// lookup.
// Method: random bytes; the body is read back as a number and the checksum is computed by zlib; every single character
// of a key is replaced.
import { expect } from 'chai';
import fc from 'fast-check';
import { crc32 } from 'node:zlib';
import { API_KEY_BYTES, formatApiKey, isApiKeyShaped } from '../../../core/access/credential.js';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const bytes = fc.uint8Array({ minLength: API_KEY_BYTES, maxLength: API_KEY_BYTES });

function numberOf(text: string): bigint {
  return [...text].reduce((value, digit) => value * 62n + BigInt(DIGITS.indexOf(digit)), 0n);
}

describe('API keys', () => {
  it('are svc_live_, the 32 bytes in 43 digits of base 62, and the CRC-32 of those in 6', () => {
    fc.assert(
      fc.property(bytes, (random) => {
        const key = formatApiKey(random);
        expect(key).to.match(/^svc_live_[0-9A-Za-z]{49}$/);
        expect(numberOf(key.slice(9, 52))).to.equal(BigInt(`0x${Buffer.from(random).toString('hex')}`));
        expect(numberOf(key.slice(52))).to.equal(BigInt(crc32(key.slice(9, 52))));
        expect(isApiKeyShaped(key)).to.equal(true);
      }),
      { examples: [[new Uint8Array(32)], [new Uint8Array(32).fill(255)]] },
    );
  });

  it('are refused with any one character changed, missing, doubled or added', () => {
    fc.assert(
      fc.property(bytes, fc.constantFrom(...DIGITS, ' ', '\n', '-', '_', 'é', '\0'), (random, other) => {
        const key = formatApiKey(random);
        for (let index = 0; index < key.length; index += 1) {
          if (key[index] !== other)
            expect(isApiKeyShaped(key.slice(0, index) + other + key.slice(index + 1)), `${index} ${other}`).to.equal(
              false,
            );
          expect(isApiKeyShaped(key.slice(0, index) + key.slice(index + 1))).to.equal(false);
          expect(isApiKeyShaped(key.slice(0, index) + (key[index] ?? '') + key.slice(index))).to.equal(false);
        }
        expect(isApiKeyShaped(key + other)).to.equal(false);
      }),
      { numRuns: 50 },
    );
  });

  it('are refused with another prefix', () => {
    const key = formatApiKey(new Uint8Array(32).fill(9));
    for (const prefix of ['svc_anon_', 'svc_oauth_', 'SVC_LIVE_', ' svc_live_', ''])
      expect(isApiKeyShaped(prefix + key.slice(9))).to.equal(false);
  });
});
