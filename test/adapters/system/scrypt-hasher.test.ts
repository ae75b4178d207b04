// Goal: hashes are salted, carry their own cost, and are computed two at once with a bounded queue.
// Method: hashes of one password, hashes of another cost, and more requests than the queue takes.
import { expect } from 'chai';
import { ScryptHasher } from '../../../adapters/system/scrypt-hasher.js';
import { codeOf } from '../../fixtures/refusals.js';

const CHEAP = { n: 16, r: 1, p: 1 };

describe('passwords hashed with scrypt', () => {
  const hasher = new ScryptHasher({ cost: CHEAP });

  it('are matched by their hash, and by no other', async () => {
    const [one, same, other] = await Promise.all(
      ['a password', 'a password', 'another'].map((text) => hasher.hash(text)),
    );
    if (!one || !same || !other) return expect.fail('there are three');
    expect(one.hash, 'salted').to.not.equal(same.hash);
    expect(await hasher.matches('a password', { ...one, setAt: 1 })).to.equal(true);
    for (const hash of [{ ...other, setAt: 1 }, { ...one, salt: same.salt, setAt: 1 }, undefined])
      expect(await hasher.matches('a password', hash)).to.equal(false);
  });

  it('are matched with the cost they were hashed with', async () => {
    const hash = { ...(await hasher.hash('a password')), setAt: 1 };
    expect(await new ScryptHasher({ cost: { n: 32, r: 2, p: 1 } }).matches('a password', hash)).to.equal(true);
  });

  it('cost 128 MiB by default', async () => {
    const { n, r, p } = await new ScryptHasher().hash('a password');
    expect([128 * n * r, p]).to.deep.equal([128 * 2 ** 20, 1]);
  });

  it('are refused with a time to try again when too many wait', async () => {
    const busy = new ScryptHasher({ cost: CHEAP, maxWaiting: 3 });
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => codeOf(busy.hash('a password'))));
    expect(outcomes.filter((code) => code === 'OK')).to.have.lengthOf(5);
    expect(outcomes.filter((code) => code === 'SERVICE_UNAVAILABLE')).to.have.lengthOf(5);
    expect(await codeOf(busy.hash('a password'))).to.equal('OK');
  });
});
