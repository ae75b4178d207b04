// Goal: a database is made ready for wake-ups by any number of processes at once, and one that is not ready is refused.
// Method: a fresh database on a real server for each test, with an index missing or a different one in its place.
import { expect } from 'chai';
import { type Db, MongoClient, MongoServerError } from 'mongodb';
import { AgendaRefused } from '../../../adapters/agenda/agenda-refused.js';
import { AgendaWakeUps } from '../../../adapters/agenda/agenda-wake-ups.js';
import { migrateAgenda, missingFromAgenda } from '../../../adapters/agenda/migrate-agenda.js';
import { type AgendaDatabase, WakeUpCollection } from '../../../adapters/agenda/wake-up-collection.js';
import { bounded } from '../../../adapters/mongo/connection.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { uuidAt } from '../../fixtures/stored-records.js';
import { LAST_PAIR } from '../../harness/store-pairs.js';
import { freshDatabase, type FreshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, type MongoServer, orSkip } from '../../servers/servers.js';
import { asked } from './on-agenda.js';

const clock = new SystemClock();

describe('migrateAgenda', () => {
  let server: MongoServer;
  let place: FreshDatabase;
  let database: AgendaDatabase;
  let client: MongoClient;
  let db: Db;

  before(async function open() {
    server = await orSkip(this, mongoServer(LAST_PAIR.mongo));
  });
  beforeEach(() => {
    place = freshDatabase(server);
    client = new MongoClient(place.url);
    db = client.db(place.database);
    database = asked(db);
  });
  afterEach(async () => {
    await client.close();
    await place.drop();
  });

  it('creates the indexes, says so, and finds nothing to do the next time', async () => {
    expect(await missingFromAgenda(database)).to.have.length(2);
    expect(await migrateAgenda(database)).to.deep.equal([
      'Made the index generation of agenda_wake_ups.',
      'Made the index due of agenda_wake_ups.',
    ]);
    expect(await missingFromAgenda(database)).to.deep.equal([]);
    expect(await migrateAgenda(database)).to.deep.equal([]);
  });

  it('runs safely in many processes concurrently', async () => {
    await Promise.all(Array.from({ length: 8 }, () => migrateAgenda(database)));
    expect(await missingFromAgenda(database)).to.deep.equal([]);
  });

  it('creates a missing index', async () => {
    await migrateAgenda(database);
    await db.collection('agenda_wake_ups').dropIndex('due');
    expect(await migrateAgenda(database)).to.deep.equal(['Made the index due of agenda_wake_ups.']);
  });

  it('refuses another index of that name', async () => {
    await db.collection('agenda_wake_ups').createIndex({ nextRunAt: 1 }, { name: 'due' });
    const refused: unknown = await migrateAgenda(database).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(AgendaRefused).with.property('message').that.includes('due');
  });

  it('refuses two wake-ups of one generation, which conflict with an index', async () => {
    await db.collection('agenda_wake_ups').insertMany([1, 2].map(() => ({ data: { key: 'one' } })));
    const refused: unknown = await migrateAgenda(database).catch((error: unknown) => error);
    expect(refused)
      .to.be.instanceOf(AgendaRefused)
      .with.property('message')
      .that.matches(/^The index generation .* again\.$/);
  });

  it('reports a missing or late answer as an outage, and passes the error of the server on for a mistake', async () => {
    const never = { db, ask: <T>() => bounded(20, () => new Promise<T>(() => undefined)) };
    for (const use of [
      migrateAgenda,
      missingFromAgenda,
      (silent: AgendaDatabase) => AgendaWakeUps.open({ ...silent, clock, wokenBy: 'auto' }),
    ]) {
      expect(await use(never).catch((error: unknown) => error)).to.be.instanceOf(StoreUnavailable);
    }
    await migrateAgenda(database);
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
    const refused: unknown = await AgendaWakeUps.open({ ...database, clock, wokenBy: 'polling' }).catch(
      (error: unknown) => error,
    );
    expect(refused).to.be.instanceOf(AgendaRefused).with.property('message').that.includes('darkroom migrate');
  });

  if (LAST_PAIR.mongo === 'standalone')
    it('refuses change streams of a server that has none', async () => {
      await migrateAgenda(database);
      const refused: unknown = await AgendaWakeUps.open({ ...database, clock, wokenBy: 'change-streams' }).catch(
        (error: unknown) => error,
      );
      expect(refused).to.be.instanceOf(AgendaRefused).with.property('message').that.includes('agenda.woken_by');
      await AgendaWakeUps.open({ ...database, clock, wokenBy: 'auto' });
    });
});
