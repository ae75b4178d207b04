import { expect } from 'chai';
import { ScryptHasher } from '../../../adapters/system/scrypt-hasher.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { SystemDigests } from '../../../adapters/system/system-digests.js';
import { SystemIds } from '../../../adapters/system/system-ids.js';
import { clockContract } from '../../contracts/clock.contract.js';
import { digestsContract } from '../../contracts/digests.contract.js';
import { idsContract } from '../../contracts/ids.contract.js';
import { codeOf } from '../../fixtures/memory-stores.js';

// Goal: hashes are salted, carry their own cost, and are computed two at once with a bounded queue.
// Method: hashes of one password, hashes of another cost, and more requests than the queue takes.

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

// Goal: the machine's digests keep the port's contract, and cannot be set up with a weak or shared secret.
// Method: the contract; short secrets; a secret changed by its owner after it was handed over.

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

// Goal: the machine's clock keeps the port's contract, and keeps the process alive only when it is meant to.
// Method: the contract, and whether a pending timer shows among the runtime's active resources.

clockContract({ name: 'system', open: async () => new SystemClock(), close: async () => undefined, supports: {} });

describe('SystemClock', () => {
  const timersHeld = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;

  it('keeps the process alive while a timer is pending, unless told not to', () => {
    const before = timersHeld();
    const cancelHolding = new SystemClock().after(60_000, () => undefined);
    expect(timersHeld()).to.equal(before + 1);
    const cancelOther = new SystemClock({ keepsProcessAlive: false }).after(60_000, () => undefined);
    expect(timersHeld()).to.equal(before + 1);
    cancelHolding();
    cancelOther();
  });
});

// Goal: the machine's ids keep the port's contract.
// Method: the contract.

idsContract({ name: 'system', open: async () => new SystemIds(), close: async () => undefined, supports: {} });
