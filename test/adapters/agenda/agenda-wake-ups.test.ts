// Goal: wake-ups delivered by Agenda keep the port's contract, whether the server tells of changes or is polled, without a
// question that reads the collection from end to end or a write that is acknowledged too early.
// Method: the contract on real servers and the machine's clock; all commands are watched, and explained at the end.
import { expect } from 'chai';
import type { WakeUps } from '../../../core/ports/wake-ups.js';
import { wakeUpsContract } from '../../contracts/wake-ups.contract.js';
import { uuidAt } from '../../fixtures/stored-records.js';
import { elapsed, onAgenda, until } from './on-agenda.js';

onAgenda('AgendaWakeUps', (place, { wokenBy }) => {
  wakeUpsContract({
    name: `agenda, ${wokenBy}`,
    open: () => place.open(),
    async close(wakeUps: WakeUps) {
      await wakeUps.stop();
      await place.empty();
    },
    supports: { now: () => Date.now(), elapse: elapsed, quietMs: 2_500, reopen: () => place.open() },
  });

  // A suite, since mocha runs those after the tests beside them.
  describe('what the server was asked', () => {
    before(async () => {
      // The contract lasts no wake-up for as long as it takes to keep holding it.
      const wakeUps = await place.open({ holdMs: 400 });
      let calls = 0;
      await wakeUps.start(async () => {
        calls += 1;
        await elapsed(1_000);
      }, 1);
      await wakeUps.schedule(uuidAt(1), Date.now());
      await until(() => calls > 0);
      await place.empty();
    });

    it('is found by an index', () => place.queries.expectIndexes(place.connect()));

    it('is written for a majority and to the journal', () => {
      expect(place.queries.writeConcerns.map((concern): unknown => JSON.parse(concern))).to.deep.equal([{ w: 'majority', j: true }]);
    });
  });
});
