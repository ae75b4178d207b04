// Goal: wake-ups in memory keep the port's contract, and processes that share a table share the work.
// Method: the contract on a manual clock; then two processes over one table, one of which dies.
import { expect } from 'chai';
import { MemoryWakeUps } from '../../../adapters/memory/memory-wake-ups.js';
import { MemoryWakeUpTable } from '../../../adapters/memory/wake-up-table.js';
import { wakeUpsContract } from '../../contracts/wake-ups.contract.js';
import { ManualClock } from '../../fixtures/manual-clock.js';
import { aboutGeneration, uuidAt } from '../../fixtures/stored-records.js';

const clock = new ManualClock();
let table = new MemoryWakeUpTable();

wakeUpsContract({
  name: 'memory',
  async open() {
    table = new MemoryWakeUpTable();
    return new MemoryWakeUps({ clock, table });
  },
  close: async (wakeUps) => wakeUps.stop(),
  supports: {
    now: () => clock.now(),
    elapse: (ms) => clock.advance(ms),
    quietMs: 300_000,
    reopen: async () => new MemoryWakeUps({ clock, table }),
  },
});

describe('MemoryWakeUps that share a table', () => {
  it('deliver a wake-up in one process only, and in the other if the first dies during it', async () => {
    const shared = new MemoryWakeUpTable();
    const delivered: string[] = [];
    const dying = new MemoryWakeUps({ clock, table: shared });
    const living = new MemoryWakeUps({ clock, table: shared });
    await dying.start(
      () =>
        new Promise<void>(() => {
          delivered.push('dying');
        }),
      1,
    );
    await living.start(async () => {
      delivered.push('living');
    }, 1);
    await living.schedule(aboutGeneration(uuidAt(1)), clock.now());
    await clock.advance(10_000);
    expect(delivered).to.deep.equal(['dying']);
    await clock.advance(60_000);
    expect(delivered).to.deep.equal(['dying', 'living']);
    await living.stop();
  });
});
