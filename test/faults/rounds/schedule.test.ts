/**
 * Goal: a run of ordinary length tries every kind of fault, and a seed always draws the same rounds.
 * Method: draw rounds of many seeds and count.
 */
import { expect } from 'chai';
import fc from 'fast-check';
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
