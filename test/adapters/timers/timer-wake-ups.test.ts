// Goal: wake-ups delivered by timers and kept in SQLite keep the port's contract.
// Method: the contract on a manual clock and its own data folder; then the behaviour specific to a shared table.
import { expect } from 'chai';
import { rmSync } from 'node:fs';
import { openSqlite, type SqliteStores } from '../../../adapters/sqlite/open-sqlite.js';
import { TimerWakeUps, type WakeUpTable } from '../../../adapters/timers/timer-wake-ups.js';
import { wakeUpsContract } from '../../contracts/wake-ups.contract.js';
import { ManualClock, settled } from '../../fixtures/clocks.js';
import { aboutGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { temporaryFolder } from '../sqlite/sqlite-subject.js';

const clock = new ManualClock();
let folder: string;
let stores: SqliteStores;

async function open(): Promise<TimerWakeUps> {
  folder = temporaryFolder();
  stores = await openSqlite({ folder, role: 'server' });
  return new TimerWakeUps({ table: stores.wakeUpTable, clock });
}

async function close(wakeUps: { stop(): Promise<void> }): Promise<void> {
  await wakeUps.stop();
  await stores.close();
  rmSync(folder, { recursive: true });
}

wakeUpsContract({
  name: 'timers over sqlite',
  open,
  close,
  supports: {
    now: () => clock.now(),
    elapse: (ms) => clock.advance(ms),
    quietMs: 180_000,
    async reopen() {
      await stores.close();
      stores = await openSqlite({ folder, role: 'server' });
      return new TimerWakeUps({ table: stores.wakeUpTable, clock });
    },
  },
});

describe('TimerWakeUps over a table that others write too', () => {
  let wakeUps: TimerWakeUps;
  beforeEach(async () => {
    wakeUps = await open();
  });
  afterEach(async () => close(wakeUps));

  it('deliver within a poll what another process has scheduled', async () => {
    const delivered: string[] = [];
    await wakeUps.start(async ({ id }) => {
      delivered.push(id);
    }, 1);
    const tool = await openSqlite({ folder, role: 'tool' });
    await tool.wakeUpTable.upsert(uuidAt(1), clock.now());
    await tool.close();
    await clock.advance(1_000);
    expect(delivered).to.deep.equal([uuidAt(1)]);
  });

  it('wait longer after every failure, up to a minute', async () => {
    const calls: number[] = [];
    const start = clock.now();
    await wakeUps.start(async () => {
      calls.push(clock.now() - start);
      throw new Error('never');
    }, 1);
    await wakeUps.schedule(aboutGeneration(uuidAt(1)), start);
    await clock.advance(250_000);
    expect(calls).to.deep.equal([0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000, 123_000, 183_000, 243_000]);
  });

  it('process a backlog without waiting for a poll, and remove all done wake-ups from the table', async () => {
    const delivered = new Set<string>();
    await wakeUps.start(async ({ id }) => {
      delivered.add(id);
    }, 8);
    await Promise.all(Array.from({ length: 200 }, (_, n) => wakeUps.schedule(aboutGeneration(uuidAt(n)), clock.now())));
    // The clock does not move, so no poll can deliver the rest.
    for (let turns = 0; delivered.size < 200 && turns < 1_000_000; turns += 1) await settled();
    await wakeUps.stop();
    expect(delivered.size).to.equal(200);
    expect(stores.wakeUpTable.due(clock.now(), 1000)).to.deep.equal([]);
  });

  it('call a handler that schedules again no more often than a poll while the table cannot be written', async () => {
    const table = {
      ...over(stores.wakeUpTable),
      upsert: () => Promise.reject(new Error('The disk is full.')),
      done: () => Promise.reject(new Error('The disk is full.')),
    };
    await stores.wakeUpTable.upsert(uuidAt(1), clock.now());
    const cut = new TimerWakeUps({ table, clock });
    let calls = 0;
    await cut.start(async ({ id }) => {
      calls += 1;
      if (calls > 1_000) return;
      await cut.schedule(aboutGeneration(id), clock.now() + 60_000).catch(() => undefined);
    }, 4);
    await clock.advance(10_000);
    expect(calls).to.be.within(1, 12);
    await cut.stop();
  });

  it('call a handler that schedules again, and does not wait for that, no more while the table is slow', async () => {
    const writes: (() => Promise<void>)[] = [];
    const table = {
      ...over(stores.wakeUpTable),
      upsert: (id: string, at: number) =>
        new Promise<void>((resolve, reject) => {
          writes.push(() => stores.wakeUpTable.upsert(id, at).then(resolve, reject));
        }),
    };
    await stores.wakeUpTable.upsert(uuidAt(1), clock.now());
    const slow = new TimerWakeUps({ table, clock });
    const later = clock.now() + 60_000;
    const calls: number[] = [];
    await slow.start(async ({ id }) => {
      calls.push(clock.now());
      if (clock.now() < later && calls.length < 1_000) void slow.schedule(aboutGeneration(id), later);
    }, 4);
    await clock.advance(5_000);
    expect([calls.length, writes.length]).to.deep.equal([1, 1]);
    // The table is a real one: the clock of the test does not wait for it.
    await writes.shift()?.();
    await clock.advance(54_000);
    expect(calls).to.have.length(1);
    await clock.advance(2_000);
    expect(calls).to.deep.equal([calls[0], later]);
    await slow.stop();
  });

  it('call a handler for what stood before, where nothing could be scheduled', async () => {
    let failures = 1;
    const table = {
      ...over(stores.wakeUpTable),
      upsert: async (id: string, at: number) => {
        await settled();
        if ((failures -= 1) >= 0) throw new Error('The disk is full.');
        return stores.wakeUpTable.upsert(id, at);
      },
    };
    await stores.wakeUpTable.upsert(uuidAt(1), clock.now() + 10);
    const cut = new TimerWakeUps({ table, clock });
    const calls: string[] = [];
    await cut.start(async ({ id }) => void calls.push(id), 4);
    const scheduled = cut.schedule(aboutGeneration(uuidAt(1)), clock.now() + 60_000).catch(() => undefined);
    await clock.advance(2_000);
    await scheduled;
    expect(calls).to.deep.equal([uuidAt(1)]);
    await cut.stop();
  });
});

function over(table: SqliteStores['wakeUpTable']): WakeUpTable {
  return {
    upsert: (id, at) => table.upsert(id, at),
    due: (now, limit) => table.due(now, limit),
    done: (id, at) => table.done(id, at),
    nextAt: (now) => table.nextAt(now),
  };
}
