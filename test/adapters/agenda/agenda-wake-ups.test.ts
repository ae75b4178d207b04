// Goal: wake-ups delivered by Agenda keep the port's contract, whether the server tells of changes or is polled.
// Method: the contract on real servers and the machine's clock, each test in a database of its own.
import type { WakeUps } from '../../../core/ports/wake-ups.js';
import { wakeUpsContract } from '../../contracts/wake-ups.contract.js';
import { AgendaDatabase, LANES } from './agenda-subject.js';

for (const lane of LANES.filter(({ url }) => url !== undefined)) {
  let database: AgendaDatabase;
  wakeUpsContract({
    name: `agenda, ${lane.wokenBy}`,
    async open() {
      database = await AgendaDatabase.make(lane);
      return database.open();
    },
    async close(wakeUps: WakeUps) {
      await wakeUps.stop();
      await database.drop();
    },
    supports: {
      now: () => Date.now(),
      elapse: (ms) => new Promise((resolve) => { setTimeout(resolve, ms); }),
      quietMs: 2_500,
      reopen: () => database.open(),
    },
  });
}
