// Goal: a read passes the remaining time of its call to MongoDB, so that the server does not work for a client that has
// left; a write has the store's own time limit, for any call.
// Method: the commands that the driver sends to a real server, as the driver reports them.
import { expect } from 'chai';
import type { CommandStartedEvent } from 'mongodb';
import { MongoConnection } from '../../../adapters/mongo/connection.js';
import { migrateMongo, storesOver } from '../../../adapters/mongo/open-mongo.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { aGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { LAST_PAIR } from '../../harness/store-pairs.js';
import { freshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, type MongoServer, orSkip } from '../../servers/servers.js';

const STORE_BOUND_MS = 3_600_000;
const CALL_MS = 600_000;

describe('Deadlines of calls, in MongoDB', () => {
  let server: MongoServer;
  before(async function servers() {
    server = await orSkip(this, mongoServer(LAST_PAIR.mongo));
  });

  it('go with the reads of the call, and not beyond the bound of the store', async () => {
    const database = freshDatabase(server);
    await migrateMongo(database);
    const connection = await MongoConnection.open(
      { ...database, timeoutMs: STORE_BOUND_MS },
      { monitorCommands: true },
    );
    const bounds: number[] = [];
    connection.db.client.on('commandStarted', ({ command }: CommandStartedEvent) => {
      bounds.push(Number(command['maxTimeMS']));
    });
    const { generations, accounts, credentials } = storesOver(connection, { form: 'grouped' });

    await generations.insert(aGeneration(1));
    await generations.read(uuidAt(1), new TestedCall());
    await generations.read(uuidAt(1), new TestedCall({ deadline: Date.now() + 2 * STORE_BOUND_MS }));
    expect(bounds.splice(0)).to.deep.equal([STORE_BOUND_MS, STORE_BOUND_MS, STORE_BOUND_MS]);

    const call = new TestedCall({ deadline: Date.now() + CALL_MS });
    await generations.read(uuidAt(1), call);
    await generations.list({ of: 'account', accountId: uuidAt(1) }, { limit: 1 }, call);
    await accounts.read(uuidAt(1), call);
    await accounts.entries(uuidAt(1), { limit: 1 }, call);
    await accounts.list({ limit: 1 }, call);
    await credentials.readApp(uuidAt(1), call);
    await credentials.listApps(uuidAt(1), { limit: 1 }, call);
    await credentials.listKeys(uuidAt(1), { limit: 1 }, call);
    expect(bounds).to.have.length(8);
    for (const bound of bounds) expect(bound).to.be.within(1, CALL_MS);

    await connection.close();
    await database.drop();
  });
});
