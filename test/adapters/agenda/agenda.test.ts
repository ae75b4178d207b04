import { expect } from 'chai';
import { type Db, MongoClient, MongoServerError } from 'mongodb';
import { type LentMongo, WakeUpCollection } from '../../../adapters/agenda/mongo/wake-up-collection.js';
import { AgendaWakeUps } from '../../../adapters/agenda/agenda-wake-ups.js';
import { MongoWakeUps } from '../../../adapters/agenda/mongo/mongo-wake-ups.js';
import { migrateCollection, missingFromCollection } from '../../../adapters/agenda/mongo/migrate-collection.js';
import { WakeUpChannel } from '../../../adapters/agenda/wake-up-channel.js';
import { WakeUpRepository } from '../../../adapters/agenda/wake-up-repository.js';
import { AgendaRefused, type WakeUpStore } from '../../../adapters/agenda/wake-up-store.js';
import { bounded } from '../../../adapters/mongo/connection.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { WakeUps } from '../../../core/ports/wake-ups.js';
import { wakeUpsContract } from '../../contracts/wake-ups.contract.js';
import { type ManualClock, until } from '../../fixtures/clocks.js';
import { aboutGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { sizeOf } from '../../harness/run-sizes.js';
import { LAST_PAIR } from '../../harness/store-pairs.js';
import { freshDatabase, type FreshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, type MongoServer, orSkip } from '../../servers/servers.js';
import { elapsed, onManualClock } from './agenda-place.js';
import { lentMongo, MongoAgendaPlace } from './mongo-place.js';
import { onAgenda } from './on-agenda.js';

// Goal: when a process stops, and not sooner, it returns the wake-ups that it holds but has not started; a wake-up that
// Agenda has no slot for stays held.
// Method: the repository alone, without a consumer, so that the wake-ups it holds are never started.

const clock = new SystemClock();

onAgenda('WakeUpRepository', (place) => {
  let wakeUps: WakeUpStore;
  let repository: WakeUpRepository;

  beforeEach(async () => {
    wakeUps = await place.openStore(clock, 600_000);
    const channel = new WakeUpChannel({ clock, pollMs: 1_000, onAnnouncementsLost: () => undefined });
    repository = new WakeUpRepository({
      limit: 10,
      clock,
      wakeUps,
      channel,
      onTrouble: (error) => {
        throw error;
      },
    });
  });
  afterEach(() => place.empty());

  it('hides what is held from others, and gives it back at the end', async () => {
    await repository.hold(uuidAt(1));
    expect(repository.heldCount).to.equal(1);
    expect(await wakeUps.take(clock.now(), true, 1)).to.deep.equal([]);
    repository.close();
    await repository.handOver();
    expect(repository.heldCount).to.equal(0);
    expect((await wakeUps.take(clock.now(), true, 1))[0]).to.include({ key: uuidAt(1) });
  });

  it('gives back immediately what it takes after it was closed', async () => {
    repository.close();
    await repository.hold(uuidAt(1));
    expect(repository.heldCount).to.equal(0);
    expect((await wakeUps.take(clock.now(), true, 1))[0]).to.include({ key: uuidAt(1) });
  });

  it('ignores a late renewal of a wake-up that was given back', async () => {
    const held = await wakeUps.putHeld(uuidAt(1));
    await wakeUps.putBack(held, clock.now(), 3);
    await wakeUps.keep([held]);
    const [taken] = await wakeUps.take(clock.now(), true, 1);
    expect(taken).to.include({ key: uuidAt(1), failCount: 3 });
    expect(taken?.stamp).not.to.equal(held.stamp);
  });

  it('does not give back over a later schedule', async () => {
    await repository.hold(uuidAt(1));
    await wakeUps.put(uuidAt(1), clock.now() + 3_600_000);
    repository.close();
    await repository.handOver();
    expect(await wakeUps.take(clock.now(), true, 1)).to.deep.equal([]);
  });
});

// Goal: wake-ups delivered by Agenda keep the port's contract, with change streams and with polling, without a query
// that scans the whole collection or a write that is acknowledged too early.
// Method: the contract on real servers and a manual clock that waits for pending server operations; all commands are
// watched, and explained at the end. Other suites of this folder use the machine's clock.

/** Longer than any retry. */
const QUIET_MS = 70_000;

onAgenda('AgendaWakeUps', (place) => {
  let processes = onManualClock();
  const clockOf = (): ManualClock => processes.clock;

  /** A first process, and a clock that starts with it: Agenda uses the machine's clock for its retries. */
  function open(options: { readonly holdMs?: number } = {}): Promise<AgendaWakeUps> {
    processes = onManualClock();
    return place.open({ ...processes, ...options });
  }

  wakeUpsContract({
    name: `agenda, ${place.name}`,
    open: () => open(),
    async close(wakeUps: WakeUps) {
      await wakeUps.stop();
      await place.empty();
    },
    supports: {
      now: () => clockOf().now(),
      elapse: (ms) => clockOf().advance(ms),
      quietMs: QUIET_MS,
      reopen: () => place.open(processes),
    },
  });

  if (!(place instanceof MongoAgendaPlace)) return;

  // A suite, since mocha runs suites after the tests beside them.
  describe('the operations on the server', () => {
    before(async () => {
      // No handler of the contract runs long enough for its hold to be renewed.
      const wakeUps = await open({ holdMs: 400 });
      let end: () => void = () => undefined;
      let isBegun = false;
      await wakeUps.start(async () => {
        isBegun = true;
        await new Promise<void>((resolve) => {
          end = resolve;
        });
      }, 1);
      await wakeUps.schedule(aboutGeneration(uuidAt(1)), clockOf().now());
      await until(() => isBegun);
      await clockOf().advance(1_000);
      end();
      await place.empty();
    });

    it('find documents by an index', () => place.queries.expectIndexes(place.connect()));

    it('write for a majority and to the journal', () => {
      expect(place.queries.writeConcerns.map((concern): unknown => JSON.parse(concern))).to.deep.equal([
        { w: 'majority', j: true },
      ]);
    });
  });
});

// Goal: a database is made ready for wake-ups by any number of processes at once, and one that is not ready is refused.
// Method: a fresh database on a real server for each test, with an index missing or a different one in its place.

describe('MongoWakeUps', () => {
  let server: MongoServer;
  let place: FreshDatabase;
  let database: LentMongo;
  let client: MongoClient;
  let db: Db;

  before(async function open() {
    server = await orSkip(this, mongoServer(LAST_PAIR.mongo));
  });
  beforeEach(() => {
    place = freshDatabase(server);
    client = new MongoClient(place.url);
    db = client.db(place.database);
    database = lentMongo(db);
  });
  afterEach(async () => {
    await client.close();
    await place.drop();
  });

  it('creates the indexes, says so, and finds nothing to do the next time', async () => {
    expect(await missingFromCollection(database)).to.have.length(2);
    expect(await migrateCollection(database)).to.deep.equal([
      'Made the index generation of agenda_wake_ups.',
      'Made the index due of agenda_wake_ups.',
    ]);
    expect(await missingFromCollection(database)).to.deep.equal([]);
    expect(await migrateCollection(database)).to.deep.equal([]);
  });

  it('runs safely in many processes concurrently', async () => {
    await Promise.all(Array.from({ length: 8 }, () => migrateCollection(database)));
    expect(await missingFromCollection(database)).to.deep.equal([]);
  });

  it('creates a missing index', async () => {
    await migrateCollection(database);
    await db.collection('agenda_wake_ups').dropIndex('due');
    expect(await migrateCollection(database)).to.deep.equal(['Made the index due of agenda_wake_ups.']);
  });

  it('refuses another index of that name', async () => {
    await db.collection('agenda_wake_ups').createIndex({ nextRunAt: 1 }, { name: 'due' });
    const refused: unknown = await migrateCollection(database).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(AgendaRefused).with.property('message').that.includes('due');
  });

  it('refuses two wake-ups of one generation, which conflict with an index', async () => {
    await db.collection('agenda_wake_ups').insertMany([1, 2].map(() => ({ data: { key: 'one' } })));
    const refused: unknown = await migrateCollection(database).catch((error: unknown) => error);
    expect(refused)
      .to.be.instanceOf(AgendaRefused)
      .with.property('message')
      .that.matches(/^The index generation .* again\.$/);
  });

  it('reports a missing or late answer as an outage, and passes the error of the server on for a mistake', async () => {
    const never = { db, ask: <T>() => bounded(20, () => new Promise<T>(() => undefined)) };
    for (const use of [
      migrateCollection,
      missingFromCollection,
      (silent: LentMongo) => AgendaWakeUps.open({ database: new MongoWakeUps(silent), clock, wokenBy: 'auto' }),
    ]) {
      expect(await use(never).catch((error: unknown) => error)).to.be.instanceOf(StoreUnavailable);
    }
    await migrateCollection(database);
    const wakeUps = new WakeUpCollection(database, clock, 1_000);
    await db.collection('agenda_wake_ups').dropIndexes();
    const said: unknown = await wakeUps
      .keep([{ key: uuidAt(1), stamp: 'x', failCount: 0, isStored: 'yes' }])
      .catch((error: unknown) => error);
    expect(said).to.be.instanceOf(MongoServerError);
    await client.close();
    expect(await wakeUps.put(uuidAt(1), 0).catch((error: unknown) => error)).to.be.instanceOf(StoreUnavailable);
  });

  it('is named in the error of a process that finds the database not ready', async () => {
    const refused: unknown = await AgendaWakeUps.open({
      database: new MongoWakeUps(database),
      clock,
      wokenBy: 'polling',
    }).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(AgendaRefused).with.property('message').that.includes('darkroom migrate');
  });

  it('refuses notifications', async () => {
    await migrateCollection(database);
    const refused: unknown = await AgendaWakeUps.open({
      database: new MongoWakeUps(database),
      clock,
      wokenBy: 'notifications',
    }).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(AgendaRefused).with.property('message').that.includes('agenda.woken_by');
  });

  if (LAST_PAIR.mongo === 'standalone')
    it('refuses change streams of a server that has none', async () => {
      await migrateCollection(database);
      const refused: unknown = await AgendaWakeUps.open({
        database: new MongoWakeUps(database),
        clock,
        wokenBy: 'change-streams',
      }).catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(AgendaRefused).with.property('message').that.includes('agenda.woken_by');
      await AgendaWakeUps.open({ database: new MongoWakeUps(database), clock, wokenBy: 'auto' });
    });
});

// Goal: the time from a wake-up's schedule to its handler is measured and printed; only its arrival is asserted.
// Method: wake-ups that are due immediately, scheduled at a steady pace, in the process that handles them or in
// another.

const WAKE_UPS = sizeOf('measuredWakeUps');
const PACE_MS = 20;

onAgenda('AgendaWakeUps from schedule to handler', (place) => {
  afterEach(() => place.empty());

  async function measure(scheduledIn: 'the same process' | 'another'): Promise<string> {
    const workers = [await place.open(), await place.open(), await place.open()];
    const other = await place.open();
    const scheduledAt = new Map<string, number>();
    const tookMs = new Map<string, number>();
    for (const worker of workers) {
      await worker.start(async ({ id }) => {
        if (!tookMs.has(id)) tookMs.set(id, performance.now() - (scheduledAt.get(id) ?? 0));
      }, 10_000);
    }
    const schedules: Promise<void>[] = [];
    for (let n = 0; n < WAKE_UPS; n += 1) {
      scheduledAt.set(uuidAt(n), performance.now());
      const scheduler = scheduledIn === 'another' ? other : (workers[n % workers.length] ?? other);
      schedules.push(scheduler.schedule(aboutGeneration(uuidAt(n)), Date.now()));
      await elapsed(PACE_MS);
    }
    await Promise.all(schedules);
    await until(() => tookMs.size === WAKE_UPS);
    const sorted = [...tookMs.values()].toSorted((a, b) => a - b);
    const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(0);
    return `      ${place.name}, scheduled in ${scheduledIn}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
  }

  it('arrives when the handling process schedules it', async () => {
    console.log(await measure('the same process'));
  });
  it('arrives when another process schedules it', async () => {
    console.log(await measure('another'));
  });
});
