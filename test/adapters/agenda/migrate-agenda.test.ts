// Goal: a database is made ready for wake-ups by any number of processes at once, and one that is not ready is refused.
// Method: databases of their own on a real server, with an index missing, or another in its place.
import { expect } from 'chai';
import { MongoClient, type Db } from 'mongodb';
import { AgendaRefused } from '../../../adapters/agenda/agenda-refused.js';
import { AgendaWakeUps } from '../../../adapters/agenda/agenda-wake-ups.js';
import { migrateAgenda, missingFromAgenda } from '../../../adapters/agenda/migrate-agenda.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { freshDatabase, type FreshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, orSkip, type MongoServer } from '../../servers/servers.js';

const clock = new SystemClock();

describe('migrateAgenda', () => {
  let server: MongoServer;
  let database: FreshDatabase;
  let client: MongoClient;
  let db: Db;

  before(async function standalone() { server = await orSkip(this, mongoServer('standalone')); });
  beforeEach(() => {
    database = freshDatabase(server);
    client = new MongoClient(database.url);
    db = client.db(database.database);
  });
  afterEach(async () => {
    await client.close();
    await database.drop();
  });

  it('makes the indexes, says so, and finds nothing to do the next time', async () => {
    expect(await missingFromAgenda(db)).to.have.length(2);
    expect(await migrateAgenda(db)).to.deep.equal(['Made the index generation of agenda_wake_ups.', 'Made the index due of agenda_wake_ups.']);
    expect(await missingFromAgenda(db)).to.deep.equal([]);
    expect(await migrateAgenda(db)).to.deep.equal([]);
  });

  it('may run in many processes at once', async () => {
    await Promise.all(Array.from({ length: 8 }, () => migrateAgenda(db)));
    expect(await missingFromAgenda(db)).to.deep.equal([]);
  });

  it('makes the one that is missing', async () => {
    await migrateAgenda(db);
    await db.collection('agenda_wake_ups').dropIndex('due');
    expect(await migrateAgenda(db)).to.deep.equal(['Made the index due of agenda_wake_ups.']);
  });

  it('refuses another index of that name', async () => {
    await db.collection('agenda_wake_ups').createIndex({ nextRunAt: 1 }, { name: 'due' });
    const refused: unknown = await migrateAgenda(db).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(AgendaRefused).with.property('message').that.includes('due');
  });

  it('is what a process asks for that finds the database not ready', async () => {
    const refused: unknown = await AgendaWakeUps.open({ db, clock, wokenBy: 'polling' }).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(AgendaRefused).with.property('message').that.includes('darkroom migrate');
  });

  it('does not give a server change streams that has none', async () => {
    await migrateAgenda(db);
    const refused: unknown = await AgendaWakeUps.open({ db, clock, wokenBy: 'change-streams' }).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(AgendaRefused).with.property('message').that.includes('agenda.woken_by');
    await AgendaWakeUps.open({ db, clock, wokenBy: 'auto' });
  });
});
