// Goal: wake-ups delivered by Agenda keep the port's contract, whether the server tells of changes or is polled, without a
// question that reads the collection from end to end or a write that is acknowledged too early.
// Method: the contract on real servers and the machine's clock; all commands are watched, and explained at the end.
import { expect } from 'chai';
import type { WakeUps } from '../../../core/ports/wake-ups.js';
import { wakeUpsContract } from '../../contracts/wake-ups.contract.js';
import { elapsed, onAgenda } from './on-agenda.js';

onAgenda('AgendaWakeUps', (place, { wokenBy }) => {
  wakeUpsContract({
    name: `agenda, ${wokenBy}`,
    // A short hold, so that keeping it is among what is watched.
    open: () => place.open({ holdMs: 2_000 }),
    async close(wakeUps: WakeUps) {
      await wakeUps.stop();
      await place.empty();
    },
    supports: { now: () => Date.now(), elapse: elapsed, quietMs: 2_500, reopen: () => place.open() },
  });

  // A suite, since mocha runs those after the tests beside them.
  describe('what the server was asked', () => {
    it('is found by an index', () => place.queries.expectIndexes(place.connect()));

    it('is written for a majority and to the journal', () => {
      expect(place.queries.writeConcerns.map((concern): unknown => JSON.parse(concern))).to.deep.equal([{ w: 'majority', j: true }]);
    });
  });
});
