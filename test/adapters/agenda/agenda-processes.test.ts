// Goal: any number of processes share the wake-ups of one database: each wake-up is delivered, none is lost when a
// process dies, one scheduled during its handler in another process is delivered again, and each process gets a share.
// Method: several AgendaWakeUps, each with its own connections; a process dies by having its connections cut. Tests
// that depend on how much time passes use a manual clock.
import { expect } from 'chai';
import type { AgendaWakeUps } from '../../../adapters/agenda/agenda-wake-ups.js';
import { KEEP_AFTER_MS } from '../../../adapters/agenda/wake-up-repository.js';
import { until } from '../../fixtures/clocks.js';
import { aboutGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { WrittenDocuments } from '../../harness/written-documents.js';
import { onManualClock } from './agenda-place.js';
import { onAgenda, onMongoAgenda } from './on-agenda.js';

onAgenda('AgendaWakeUps in several processes', (place) => {
  afterEach(() => place.empty());

  it('deliver each of many, and leave none behind', async () => {
    const scheduler = await place.open();
    const delivered: string[] = [];
    for (let n = 0; n < 3; n += 1)
      await (
        await place.open()
      ).start(async ({ id }) => {
        delivered.push(id);
      }, 10);
    await Promise.all(
      Array.from({ length: 200 }, (_, n) => scheduler.schedule(aboutGeneration(uuidAt(n)), Date.now())),
    );
    // A wake-up that was taken is removed from the store, and only then is its handler called.
    await until(() => new Set(delivered).size === 200);
    await until(async () => (await place.storedCount()) === 0);
    expect(delivered.length).to.equal(200);
  });

  it('share the wake-ups, though none of them can start what it holds', async () => {
    const scheduler = await place.open();
    const shares = [0, 0, 0];
    const ends: (() => void)[] = [];
    let isOpen = false;
    for (const worker of shares.keys()) {
      await (
        await place.open()
      ).start(async () => {
        shares[worker] = (shares[worker] ?? 0) + 1;
        if (!isOpen)
          await new Promise<void>((resolve) => {
            ends.push(resolve);
          });
      }, 10_000);
    }
    await Promise.all(
      Array.from({ length: 300 }, (_, n) => scheduler.schedule(aboutGeneration(uuidAt(n)), Date.now())),
    );
    await until(() => shares.reduce((sum, share) => sum + share) >= 300);
    console.log(`      shares of 300: ${shares.join(', ')}`);
    expect(Math.min(...shares)).to.be.at.least(30);
    isOpen = true;
    for (const end of ends) end();
  });

  it('leave to others what a fully loaded process schedules', async () => {
    // The clock does not move, so the first process never waits long enough to take the other's wake-ups.
    const processes = onManualClock();
    const { clock } = processes;
    const full = await place.open(processes);
    const free = await place.open({ ...processes, pollMs: 100 });
    const held = new Set<string>();
    const elsewhere = new Set<string>();
    const ends: (() => void)[] = [];
    await full.start(async ({ id }) => {
      held.add(id);
      await new Promise<void>((resolve) => {
        ends.push(resolve);
      });
    }, 10_000);
    await Promise.all(Array.from({ length: 60 }, (_, n) => full.schedule(aboutGeneration(uuidAt(n)), clock.now())));
    await until(() => held.size >= 50);
    await free.start(async ({ id }) => {
      elsewhere.add(id);
    }, 10_000);
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => full.schedule(aboutGeneration(uuidAt(100 + n)), clock.now())),
    );
    // Less than that wait, and enough for a poll.
    await clock.advance(100);
    await until(() => held.size + elsewhere.size >= 80);
    expect(elsewhere.size).to.be.at.least(10);
    for (const end of ends) end();
  });

  /** Kills a process that is handling a wake-up, and returns what the other one receives after that; nothing before. */
  async function takenOver(
    clock: { advance(ms: number): Promise<unknown> },
    dying: AgendaWakeUps,
    other: AgendaWakeUps,
  ): Promise<readonly string[]> {
    const second: string[] = [];
    await other.start(async ({ id }) => {
      second.push(id);
    }, 10);
    // Much longer than a hold, which is renewed as long as the process lives.
    await clock.advance(30_000);
    expect(second).to.deep.equal([]);
    await place.kill(dying);
    await until(async () => {
      await clock.advance(250);
      return second.length === 1;
    });
    return second;
  }

  it('deliver elsewhere what a dead process held', async () => {
    const processes = onManualClock();
    const { clock } = processes;
    const dying = await place.open({ ...processes, holdMs: 1_000 });
    const other = await place.open({ ...processes, holdMs: 1_000 });
    const first: string[] = [];
    let end: () => void = () => undefined;
    await dying.start(async ({ id }) => {
      first.push(id);
      await new Promise<void>((resolve) => {
        end = resolve;
      });
    }, 10);
    await dying.schedule(aboutGeneration(uuidAt(1)), clock.now());
    await until(() => first.length === 1);
    expect(await takenOver(clock, dying, other)).to.deep.equal([uuidAt(1)]);
    end();
  });

  it('deliver elsewhere what a dead process took from another one and was handling for long', async () => {
    const processes = onManualClock();
    const { clock } = processes;
    const [scheduling, dying, other] = [
      await place.open(processes),
      await place.open({ ...processes, holdMs: 1_000 }),
      await place.open({ ...processes, holdMs: 1_000 }),
    ];
    const first: string[] = [];
    let end: () => void = () => undefined;
    await dying.start(async ({ id }) => {
      first.push(id);
      await new Promise<void>((resolve) => {
        end = resolve;
      });
    }, 10);
    await scheduling.schedule(aboutGeneration(uuidAt(1)), clock.now());
    await until(async () => {
      await clock.advance(100);
      return first.length === 1;
    });
    await clock.advance(KEEP_AFTER_MS);
    expect(await place.storedCount(), 'while it is handled for long').to.equal(1);
    expect(await takenOver(clock, dying, other)).to.deep.equal([uuidAt(1)]);
    end();
  });

  it('deliver again what is scheduled in one process during a handler in another', async () => {
    const [handling, scheduling] = [await place.open(), await place.open()];
    let calls = 0;
    let end: () => void = () => undefined;
    await handling.start(async () => {
      calls += 1;
      if (calls === 1)
        await new Promise<void>((resolve) => {
          end = resolve;
        });
    }, 10);
    await handling.schedule(aboutGeneration(uuidAt(1)), Date.now());
    await until(() => calls === 1);
    await scheduling.schedule(aboutGeneration(uuidAt(1)), Date.now());
    end();
    await until(() => calls === 2);
    await until(async () => (await place.storedCount()) === 0);
  });

  it('do not undo a later schedule when a handler in another process fails', async () => {
    const processes = onManualClock();
    const { clock } = processes;
    const [handling, scheduling] = [await place.open(processes), await place.open(processes)];
    let fail: (error: Error) => void = () => undefined;
    let calls = 0;
    await handling.start(() => {
      calls += 1;
      return new Promise<void>((_, reject) => {
        fail = reject;
      });
    }, 10);
    await handling.schedule(aboutGeneration(uuidAt(1)), clock.now());
    await until(() => calls === 1);
    const later = clock.now() + 3_600_000;
    await scheduling.schedule(aboutGeneration(uuidAt(1)), later);
    fail(new Error('this handler fails'));
    // Longer than any retry.
    await clock.advance(70_000);
    expect(calls).to.equal(1);
    expect(await place.storedAt(uuidAt(1))).to.equal(later);
  });

  it('hand over immediately what a stopping process has not started', async () => {
    const [stopping, other] = [await place.open({ holdMs: 600_000 }), await place.open()];
    const ends: (() => void)[] = [];
    const handled = new Set<string>();
    await stopping.start(async ({ id }) => {
      handled.add(id);
      await new Promise<void>((resolve) => {
        ends.push(resolve);
      });
    }, 5);
    const scheduled = Promise.all(
      Array.from({ length: 40 }, (_, n) => stopping.schedule(aboutGeneration(uuidAt(n)), Date.now())),
    );
    await until(() => handled.size >= 1);
    const stopped = stopping.stop();
    await scheduled;
    const elsewhere = new Set<string>();
    await other.start(async ({ id }) => {
      elsewhere.add(id);
    }, 10);
    // A hold lasts ten minutes: a wake-up that was not handed over would not come within the test's time.
    await until(() => elsewhere.size + handled.size >= 40);
    for (const end of ends) end();
    await stopped;
  });
});

onMongoAgenda('AgendaWakeUps in several processes over MongoDB', (place) => {
  afterEach(() => place.empty());

  it('are written twice, when they are scheduled and when they are taken, if they are done soon', async () => {
    const written = new WrittenDocuments();
    const [worker, scheduler] = [await place.open(), await place.open()];
    for (const process of [worker, scheduler])
      place.count(process, written, process === worker ? 'worker' : 'scheduler');
    const delivered = new Set<string>();
    await worker.start(async ({ id }) => {
      delivered.add(id);
    }, 10);
    for (let n = 0; n < 20; n += 1) {
      await scheduler.schedule(aboutGeneration(uuidAt(n)), Date.now());
      await until(() => delivered.has(uuidAt(n)));
    }
    await worker.stop();
    expect(await place.storedCount()).to.equal(0);
    expect(written.of('agenda_wake_ups delete')).to.equal(20);
    expect(written.total).to.equal(40);
  });
});
