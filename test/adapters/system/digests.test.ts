// Goal: the machine's digests keep the port's contract, and cannot be set up with a weak or shared secret.
// Method: the contract; short secrets; a secret changed by its owner after it was handed over.
import { expect } from 'chai';
import { SystemDigests } from '../../../adapters/system/system-digests.js';
import { digestsContract } from '../../contracts/digests.contract.js';

const withSecret = (fill: number) => new SystemDigests({ secret: new Uint8Array(32).fill(fill) });

digestsContract({
  name: 'system',
  open: async () => withSecret(1),
  close: async () => undefined,
  supports: { otherSecret: async () => withSecret(2) },
});

describe('SystemDigests', () => {
  it('refuses a secret of fewer than 32 bytes', () => {
    expect(() => new SystemDigests({ secret: new Uint8Array(31) })).to.throw(RangeError, '32 bytes');
  });

  it('keeps a copy of its secret', () => {
    const secret = new Uint8Array(32).fill(1);
    const digests = new SystemDigests({ secret });
    secret.fill(9);
    expect(digests.keyed('text')).to.equal(withSecret(1).keyed('text'));
  });

  it('refuses what canonical JSON has no form for', () => {
    expect(() => withSecret(1).ofJson(Number.POSITIVE_INFINITY)).to.throw();
    expect(() => withSecret(1).ofJson(['\ud800'])).to.throw();
  });
});
