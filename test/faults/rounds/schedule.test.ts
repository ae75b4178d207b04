/**
 * Goal: a run of ordinary length tries every kind of fault, and a seed always draws the same rounds.
 * Method: draw rounds of many seeds and count.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { LONGEST_DELAY_MS } from '../vendors/vendor-models.js';
import {
  VENDOR_CALL_TROUBLES,
  VENDOR_LINK_FAULTS,
  VENDOR_SILENCE,
  VENDOR_LOSSES,
} from '../vendors/vendor-fault-kinds.js';
import { RECEIVER_LINK_FAULTS, RECEIVER_TROUBLES, STREAM_FAULTS } from '../receivers/receiver-fault-kinds.js';
import { withReceiverFaults } from './receiver-faults.js';
import { withVendorFaults } from './vendor-faults.js';
import { drawRounds, FAULT_KINDS, PROCESSES, withReplacements } from './schedule.js';

describe('rounds of faults', () => {
  it('have every kind in twenty rounds, one to three at a time', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const rounds = drawRounds(seed, 20);
        expect(new Set(rounds.flatMap(({ faults }) => faults.map(({ kind }) => kind)))).to.have.lengthOf(
          FAULT_KINDS.length,
        );
        for (const { faults } of rounds) expect(faults.length).to.be.within(1, 3);
      }),
    );
  });

  it('are the same for the same seed', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        expect(drawRounds(seed, 10)).to.deep.equal(drawRounds(seed, 10));
      }),
    );
  });

  it('are done to processes that are there, and end', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        for (const { action, afterMs, forMs } of drawRounds(seed, 20).flatMap(({ faults }) => faults)) {
          if ('processes' in action)
            expect(PROCESSES)
              .to.include.members([...action.processes])
              .and.to.satisfy(() => action.processes.length > 0);
          expect(afterMs).to.be.within(0, 2_000);
          expect(forMs).to.be.within(0, 7_000);
        }
      }),
    );
  });

  it('have every kind of fault at vendors in five, and delay nothing for longer than said', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const own = drawRounds(seed, 5);
        const rounds = withVendorFaults(own, seed);
        expect(rounds).to.deep.equal(withVendorFaults(own, seed));
        const faults = rounds.map((round, index) => round.faults.slice(own[index]?.faults.length));
        expect(new Set(faults.flat().map(({ kind }) => kind))).to.have.all.keys([
          ...VENDOR_LINK_FAULTS,
          ...VENDOR_CALL_TROUBLES,
          ...VENDOR_LOSSES,
          VENDOR_SILENCE,
          'a worker killed',
        ]);
        for (const [index, added] of faults.entries()) {
          const [link, vendor, ...others] = added.map(({ kind }) => kind);
          expect([link, vendor]).to.satisfy(
            () => isOneOf(VENDOR_LINK_FAULTS, link) && isOneOf(VENDOR_CALL_TROUBLES, vendor),
          );
          expect(others).to.deep.equal([...VENDOR_LOSSES, index % 2 === 0 ? VENDOR_SILENCE : 'a worker killed']);
        }
        for (const { action } of faults.flat())
          if (action.to === 'vendor-links' && action.toxic.type === 'latency')
            expect(action.toxic.attributes.latency + action.toxic.attributes.jitter).to.be.at.most(LONGEST_DELAY_MS);
      }),
    );
  });

  it('have every kind of fault of receivers and of streams in seven, beside their own', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const own = drawRounds(seed, 7);
        const rounds = withReceiverFaults(own, seed);
        expect(rounds).to.deep.equal(withReceiverFaults(own, seed));
        const faults = rounds.map((round, index) => round.faults.slice(own[index]?.faults.length));
        expect(faults.every((added) => added.length === 3)).to.equal(true);
        expect(new Set(faults.flat().map(({ kind }) => kind))).to.have.all.keys([
          ...RECEIVER_LINK_FAULTS,
          ...RECEIVER_TROUBLES,
          ...STREAM_FAULTS,
        ]);
      }),
    );
  });

  it('replace a REST process and a worker in each round of an upgrade, beside its own faults', () => {
    const rounds = drawRounds(1, 20);
    for (const [index, { faults }] of withReplacements(rounds).entries()) {
      const [rest, worker, ...others] = faults;
      expect([rest, worker].map((fault) => fault?.action)).to.deep.equal([
        { to: 'processes', does: 'SIGTERM', processes: ['rest-2'] },
        { to: 'processes', does: 'SIGTERM', processes: ['worker-3'] },
      ]);
      expect(others).to.deep.equal(rounds[index]?.faults);
    }
  });
});

function isOneOf(kinds: readonly string[], kind: string | undefined): boolean {
  return kinds.some((one) => one === kind);
}
