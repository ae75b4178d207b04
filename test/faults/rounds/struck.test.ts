/**
 * Goal: a run whose faults hit nothing is told from one whose faults did.
 * Method: faults of all kinds that hit one thing each, and the same with some that hit nothing, or were not there.
 */
import { expect } from 'chai';
import { drawRounds } from './schedule.js';
import { VENDOR_CALL_TROUBLES, VENDOR_LOSSES, VENDOR_SILENCE } from '../vendors/vendor-fault-kinds.js';
import { RECEIVER_TROUBLES } from '../receivers/receiver-fault-kinds.js';
import { withReceiverFaults } from './receiver-faults.js';
import { withVendorFaults } from './vendor-faults.js';
import { describeStruck, whatHitNothing, type Struck } from './struck.js';

describe('faults that were played', () => {
  const all = (hits: (struck: Omit<Struck, 'hits'>) => number): Struck[] =>
    withReceiverFaults(withVendorFaults(drawRounds(1, 20), 1), 1).flatMap(({ faults }) =>
      faults.map(({ kind, action }) => {
        const struck = { kind, action: action.to };
        return { ...struck, hits: hits(struck) };
      }),
    );

  it('have all hit something', () => {
    expect(whatHitNothing(all(() => 1))).to.deep.equal([]);
  });

  it('are named when they hit nothing', () => {
    expect(whatHitNothing(all(({ kind }) => (kind === 'MongoDB frozen' ? 0 : 1)))).to.deep.equal(['MongoDB frozen']);
    expect(whatHitNothing(all(({ action }) => (action === 'links' ? 0 : 1)))).to.deep.equal(['any trouble of a link']);
    expect(whatHitNothing(all(({ action }) => (action === 's3' ? 0 : 1)))).to.deep.equal(['any trouble of S3']);
    expect(whatHitNothing(all(({ action }) => (action === 'vendor-links' ? 0 : 1)))).to.deep.equal([
      "any trouble of a vendor's link",
    ]);
    expect(whatHitNothing(all(({ action }) => (action === 'receiver-links' ? 0 : 1)))).to.deep.equal([
      "any trouble of a receiver's link",
    ]);
    expect(whatHitNothing(all(({ action }) => (action === 'streams' ? 0 : 1)))).to.deep.equal([
      'any trouble of a stream',
    ]);
    expect(whatHitNothing(all(({ action }) => (action === 'receivers' ? 0 : 1)))).to.deep.equal([...RECEIVER_TROUBLES]);
    expect(whatHitNothing(all(({ action }) => (action === 'vendors' ? 0 : 1)))).to.deep.equal([
      ...VENDOR_CALL_TROUBLES,
      ...VENDOR_LOSSES,
      VENDOR_SILENCE,
    ]);
  });

  it('of one kind of call at vendors, or at receivers, are named when they hit nothing, whatever the others did', () => {
    for (const kind of [...VENDOR_CALL_TROUBLES, ...VENDOR_LOSSES, VENDOR_SILENCE, ...RECEIVER_TROUBLES])
      expect(whatHitNothing(all((one) => (one.kind === kind ? 0 : 1)))).to.deep.equal([kind]);
  });

  it('may miss one link, or one store', () => {
    expect(
      whatHitNothing(all(({ kind }) => (kind === 'a link cut' || kind === 'S3 takes half' ? 0 : 1))),
    ).to.deep.equal([]);
  });

  it('are named when they were never played', () => {
    expect(whatHitNothing(all(() => 1).filter(({ kind }) => kind !== 'a worker frozen'))).to.deep.equal([
      'a worker frozen',
    ]);
  });

  it('are told by what they hit', () => {
    expect(
      describeStruck([
        { kind: 'a link cut', action: 'links', hits: 3 },
        { kind: 'a link cut', action: 'links', hits: 4 },
      ]),
    ).to.equal('2 a link cut (7 pieces sent)');
  });
});
