// Goal: wake-ups delivered by timers and kept in MongoDB keep the port's contract, and a process's writes for one
// generation apply in the order in which it made them.
// Method: the contract on a manual clock that waits for pending server operations; then many writes at once.
import { expect } from 'chai';
import { TimerWakeUps } from '../../../adapters/timers/timer-wake-ups.js';
import { wakeUpsContract } from '../../contracts/wake-ups.contract.js';
import { ManualClock, settled } from '../../fixtures/manual-clock.js';
import { uuidAt } from '../../fixtures/stored-records.js';
import type { Around } from './asking-through.js';
import { onMongo } from './on-mongo.js';

const underWay = new Set<object>();

const counted: Around = async (operation) => {
  const token = {};
  underWay.add(token);
  try {
    return await operation();
  } finally {
    underWay.delete(token);
  }
};

/** Waits until the server has no pending operations: then all that needs no time to pass has happened. */
async function rest(): Promise<void> {
  do await settled();
  while (underWay.size > 0);
}

onMongo('The table of wake-ups', (place) => {
  const clock = new ManualClock(undefined, rest);
  const reopened = () => new TimerWakeUps({ table: place().another(counted).wakeUpTable, clock });

  wakeUpsContract({
    name: 'timers over mongo',
    async open() {
      await place().open();
      return reopened();
    },
    close: (wakeUps) => wakeUps.stop(),
    supports: {
      now: () => clock.now(),
      elapse: (ms) => clock.advance(ms),
      quietMs: 180_000,
      reopen: async () => reopened(),
    },
  });

  it('keeps the last of many times that one process sets for a generation concurrently', async () => {
    const { wakeUpTable } = await place().open();
    await Promise.all([
      ...Array.from({ length: 50 }, (_, n) => wakeUpTable.upsert(uuidAt(1), n)),
      wakeUpTable.upsert(uuidAt(2), 7),
    ]);
    expect(await wakeUpTable.due(100, 10)).to.deep.equal([
      { key: uuidAt(2), at: 7 },
      { key: uuidAt(1), at: 49 },
    ]);
    expect(await wakeUpTable.nextAt(7)).to.equal(49);
    await Promise.all([wakeUpTable.done(uuidAt(1), 48), wakeUpTable.done(uuidAt(2), 7)]);
    expect(await wakeUpTable.due(100, 10)).to.deep.equal([{ key: uuidAt(1), at: 49 }]);
    expect(await wakeUpTable.nextAt(49)).to.equal(undefined);
  });

  it('accepts the first times that many processes set for a generation concurrently, one after the other', async () => {
    const processes = [await place().open(), place().another(), place().another()];
    await Promise.all(
      processes.flatMap(({ wakeUpTable }) => Array.from({ length: 10 }, (_, n) => wakeUpTable.upsert(uuidAt(1), n))),
    );
    expect(await place().another().wakeUpTable.due(100, 10)).to.have.length(1);
  });
});
