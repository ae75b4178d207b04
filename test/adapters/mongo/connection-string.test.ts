// Goal: with any connection string, writes are acknowledged by a majority and journalled, and reads return what a
// majority of the primary's set has; a connection string that reaches no such server is refused with what an operator
// must know.
// Method: connections by strings that ask for less, and the concerns that the driver then uses; strings with one
// mistake each.
import { expect } from 'chai';
import { MongoConnection } from '../../../adapters/mongo/connection.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { MONGO_KINDS } from '../../harness/store-pairs.js';
import { freshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, type MongoServer, orSkip } from '../../servers/servers.js';

const LESSER = [
  'w=1',
  'w=0',
  'journal=false',
  'w=1&journal=false',
  'wtimeoutMS=1',
  'readConcernLevel=local',
  'readPreference=secondaryPreferred',
];

for (const lane of MONGO_KINDS) {
  describe(`A connection string that asks for less, of MongoDB, ${lane}`, () => {
    let server: MongoServer;
    before(async function servers() {
      server = await orSkip(this, mongoServer(lane));
    });

    for (const asked of LESSER) {
      it(`is overruled: ${asked}`, async () => {
        const { url, database } = freshDatabase(server);
        const connection = await MongoConnection.open({
          url: `${url}${url.includes('?') ? '&' : '?'}${asked}`,
          database,
          timeoutMs: 30_000,
        });
        try {
          const { writeConcern, readConcern, readPreference } = connection.collection('accounts');
          expect(writeConcern).to.deep.include({ w: 'majority', journal: true, wtimeoutMS: 30_000 });
          expect(readConcern?.level).to.equal(lane === 'replica-set' ? 'majority' : 'local');
          expect(readPreference?.mode).to.equal('primary');
        } finally {
          await connection.close();
        }
      });
    }
  });
}

describe('A connection string that leads nowhere', () => {
  let server: MongoServer;
  before(async function servers() {
    server = await orSkip(this, mongoServer('replica-set'));
  });

  /** On a busy machine nothing may be known yet at the timeout: then it is tried again with twice the time. */
  async function expectRefusal(url: string, message: string): Promise<void> {
    let said = '';
    for (let timeoutMs = 250; said !== message && timeoutMs < 60_000; timeoutMs *= 2) {
      const outcome = await MongoConnection.open({ url, database: 'x', timeoutMs }).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(outcome).to.be.instanceOf(StoreUnavailable);
      said = (outcome as StoreUnavailable).message;
    }
    expect(said).to.equal(message);
  }

  it('says that the replica set is another one', async () => {
    const { host } = new URL(server.url);
    await expectRefusal(
      `mongodb://${host}/?replicaSet=another`,
      `MongoDB at ${host} does not answer as a member of the replica set another.`,
    );
  });

  it('says that there is no listener, without the password', async () => {
    await expectRefusal(
      'mongodb://user:hunter2@127.0.0.1:9/',
      'MongoDB at 127.0.0.1:9 does not answer (connect ECONNREFUSED 127.0.0.1:9).',
    );
  });
});
