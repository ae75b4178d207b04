// Goal: a process relies on a change stream where it tells soon, and on the order of one command's writes where one log has
// them: on a replica set, not on a sharded cluster.
// Method: answers to `hello` as servers give them; then stores over a connection that was told each of them.
import { expect } from 'chai';
import { deploymentOf, MongoConnection } from '../../../adapters/mongo/connection.js';
import { storesOver } from '../../../adapters/mongo/open-mongo.js';
import { freshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, orSkip } from '../../servers/servers.js';

/** As MongoDB 7 answers, in part. */
const ALONE = { helloOk: true, isWritablePrimary: true, maxWireVersion: 21, ok: 1 };
const MEMBER = { ...ALONE, setName: 'rs0', hosts: ['127.0.0.1:27017'] };
/** The first release with the command `bulkWrite`. */
const RELEASE_8 = { maxWireVersion: 25 };
const ROUTER = { ...ALONE, msg: 'isdbgrid' };

describe('the deployment that a MongoDB server says it is of', () => {
  it('is a server on its own, which has no majority and tells nothing', () => {
    expect(deploymentOf(ALONE)).to.deep.equal({ isReplicated: false, tellsSoon: false, ordersWrites: false });
    expect(deploymentOf({ ...ALONE, ...RELEASE_8 })).to.include({ ordersWrites: false });
  });

  it('is a replica set, whose change stream tells soon', () => {
    expect(deploymentOf(MEMBER)).to.deep.equal({ isReplicated: true, tellsSoon: true, ordersWrites: false });
    expect(deploymentOf({ ...MEMBER, ...RELEASE_8 }), 'which orders writes from release 8.0 on').to.include({
      ordersWrites: true,
    });
  });

  it('is a sharded cluster, whose change stream may wait for shards without writes', () => {
    expect(deploymentOf(ROUTER)).to.deep.equal({ isReplicated: true, tellsSoon: false, ordersWrites: false });
    expect(deploymentOf({ ...ROUTER, ...RELEASE_8 })).to.include({ ordersWrites: false });
  });

  it('decides whether a process is told what others write of generations', async function stores() {
    const connection = await MongoConnection.open(freshDatabase(await orSkip(this, mongoServer('replica-set'))));
    const tells = (hello: object): boolean => {
      const told = Object.create(connection, { deployment: { value: deploymentOf(hello) } }) as MongoConnection;
      return storesOver(told, { form: 'grouped' }).generationChanges !== undefined;
    };
    expect([ALONE, MEMBER, ROUTER].map(tells)).to.deep.equal([false, true, false]);
    await connection.close();
  });
});
