// Goal: ids are lower-case UUIDv7, unique and in order within a process; random bytes have the requested length.
// Method: many at once, checked for form, order and repetition.
import { expect } from 'chai';
import type { Ids } from '../../core/ports/machine.js';
import { contract, type ContractSubject } from './subject.js';

export function idsContract(subject: ContractSubject<Ids>): void {
  contract('Ids contract', subject, (ids) => {
    it('refuses a count of random bytes out of bounds', () => {
      for (const byteCount of [0, -1, 1025, 1.5, Number.NaN])
        expect(() => ids().random(byteCount), String(byteCount)).to.throw(RangeError);
    });

    it('makes lower-case UUIDs of version 7', () => {
      for (let i = 0; i < 100; i += 1)
        expect(ids().uuid()).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    });

    it('makes ids that sort in the order they were made, none twice', () => {
      const made = Array.from({ length: 20_000 }, () => ids().uuid());
      expect(new Set(made).size).to.equal(made.length);
      expect(made.toSorted()).to.deep.equal(made);
    });

    it('makes as many random bytes as asked for, and not the same ones again', () => {
      for (const byteCount of [1, 32, 1024])
        expect(ids().random(byteCount)).to.be.instanceOf(Uint8Array).with.property('byteLength', byteCount);
      const drawn = Array.from({ length: 1000 }, () => Buffer.from(ids().random(16)).toString('hex'));
      expect(new Set(drawn).size).to.equal(drawn.length);
    });
  });
}
