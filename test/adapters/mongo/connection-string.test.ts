// Goal: whatever a connection string asks for, what is written is acknowledged by a majority and journalled, and what is read
// is what a majority of the primary's set has.
// Method: connections by strings that ask for less, and the concerns that the driver then goes by.
import { expect } from 'chai';
import { MongoConnection } from '../../../adapters/mongo/connection.js';
import { freshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, orSkip, type MongoServer } from '../../servers/servers.js';
import { LANES } from './on-mongo.js';

const LESSER = ['w=1', 'w=0', 'journal=false', 'w=1&journal=false', 'wtimeoutMS=1', 'readConcernLevel=local', 'readPreference=secondaryPreferred'];

for (const lane of LANES) {
  describe(`A connection string that asks for less, of MongoDB, ${lane}`, () => {
    let server: MongoServer;
    before(async function servers() { server = await orSkip(this, mongoServer(lane)); });

    for (const asked of LESSER) {
      it(`is overruled: ${asked}`, async () => {
        const { url, database } = freshDatabase(server);
        const connection = await MongoConnection.open({ url: `${url}${url.includes('?') ? '&' : '?'}${asked}`, database, timeoutMs: 30_000 });
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
