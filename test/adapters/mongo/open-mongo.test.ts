import { expect } from 'chai';
import type { Collection } from 'mongodb';
import type { Lent } from '../../../adapters/driver.js';
import { deploymentOf, MongoConnection, type MongoOptions } from '../../../adapters/mongo/connection.js';
import { mongoDriver } from '../../../adapters/mongo/mongo-driver.js';
import { FLUSH_FROM } from '../../../adapters/mongo/mongo-ledger.js';
import { migrateMongo, MongoRefused, openMongo, storesOver } from '../../../adapters/mongo/open-mongo.js';
import { READABLE_FROM, READS_GROUPS_FROM, SCHEMA_VERSION, schemaCollections } from '../../../adapters/mongo/schema.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { anEntry } from '../../contracts/account-store.contract.js';
import { aChange, aGeneration, anAccount, uuidAt } from '../../fixtures/stored-records.js';
import { MONGO_KINDS } from '../../harness/store-pairs.js';
import { freshDatabase, type FreshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, type MongoServer, orSkip } from '../../servers/servers.js';

// Goal: a database that cannot be trusted is refused with one sentence that contains no password; set-up creates
// exactly what the schema says, in any number of processes at once and when repeated; and processes of another
// installation are detected.
// Method: databases made invalid in one way each, on both kinds of server.

/** The sentence a database is refused with. */
async function refusal(work: Promise<unknown>): Promise<string> {
  const outcome = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(outcome).to.be.instanceOf(MongoRefused);
  const { message } = outcome as MongoRefused;
  expect(message)
    .to.match(/^[A-Z].*\.$/)
    .and.not.include('\n');
  return message;
}

function schemaOf({ db }: MongoConnection): Collection<{ _id: string }> {
  return db.collection<{ _id: string }>('installation');
}

for (const lane of MONGO_KINDS) {
  describe(`A database of MongoDB, ${lane}`, () => {
    let server: MongoServer;
    let place: FreshDatabase;
    let own: MongoConnection;
    before(async function servers() {
      server = await orSkip(this, mongoServer(lane));
    });
    beforeEach(async () => {
      place = freshDatabase(server);
      own = await MongoConnection.open(place);
    });
    afterEach(async () => {
      await own.close();
      await place.drop();
    });

    describe('being opened', () =>
      opening(
        () => place,
        () => own,
      ));
    describe('being set up', () =>
      settingUp(
        () => place,
        () => own,
      ));
    describe('of one installation', () => installing(() => place));
  });
}

describe('A connection string', () => {
  const unreachable = 'mongodb://user:hunter2@127.0.0.1:9/?directConnection=true';

  it('is refused if it is malformed, and not repeated', async () => {
    for (const url of [
      '',
      'http://x',
      'mongodb://user:hunter2@/',
      'mongodb://user:hunter2@host/?w=',
      'mongodb://host/?nonsense=hunter2',
    ]) {
      expect(await refusal(openMongo({ url, database: 'x' })), url).not.to.include('hunter2');
    }
  });

  it('reports a server that does not answer as an outage, with its address and no password', async () => {
    const outcome = await openMongo({ url: unreachable, database: 'x', timeoutMs: 200 }).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(outcome).to.be.instanceOf(StoreUnavailable);
    expect((outcome as Error).message)
      .to.include('127.0.0.1:9')
      .and.not.include('hunter2');
  });
});

function opening(place: () => FreshDatabase, own: () => MongoConnection): void {
  it('is refused before it was set up, and left as it is', async () => {
    expect(await refusal(openMongo(place()))).to.include('darkroom migrate');
    expect(await own().db.collections()).to.deep.equal([]);
  });

  it('is refused when a newer release has made it unreadable for this one, by the set-up too, and left as it is', async () => {
    await migrateMongo(place());
    const marked = { version: SCHEMA_VERSION + 2, readableFrom: SCHEMA_VERSION + 1 };
    await schemaOf(own()).updateOne({ _id: 'schema' }, { $set: marked });
    await own().db.collection('claims').dropIndex('claims_by_removal');
    for (const use of [openMongo, migrateMongo]) {
      expect(await refusal(use(place())))
        .to.include(`schema ${SCHEMA_VERSION + 2}`)
        .and.include(`knows ${SCHEMA_VERSION + 1}`);
    }
    expect(await schemaOf(own()).findOne()).to.deep.equal({ _id: 'schema', ...marked });
    expect(await own().db.collection('claims').indexExists('claims_by_removal')).to.equal(false);
  });

  it('is used though a newer release has added to it, and set-up keeps what that added', async () => {
    await migrateMongo(place());
    const claims = own().db.collection('claims');
    await claims.dropIndex('claims_by_removal');
    await claims.createIndex({ addedLater: 1 }, { name: 'claims_by_what_is_new' });
    await own().db.collection('added_later').insertOne({ new: true });
    for (const readableFrom of [SCHEMA_VERSION, undefined]) {
      const newer = {
        version: SCHEMA_VERSION + 1,
        ...(readableFrom === undefined ? {} : { readableFrom }),
        addedLater: 'x',
      };
      await schemaOf(own()).replaceOne({ _id: 'schema' }, newer);
      await migrateMongo(place());
      expect(await schemaOf(own()).findOne()).to.deep.equal({
        _id: 'schema',
        ...newer,
        readableFrom: readableFrom ?? READABLE_FROM,
      });
    }
    await (await openMongo(place())).close();
    expect((await claims.indexes()).map(({ name }) => name)).to.have.members([
      '_id_',
      'claims_by_removal',
      'claims_by_what_is_new',
    ]);
    expect(await own().db.collection('added_later').countDocuments()).to.equal(1);
  });

  it('is for this release and later ones if it is made anew, and otherwise as readable as it was', async () => {
    await migrateMongo(place());
    expect(await schemaOf(own()).findOne()).to.include({ version: SCHEMA_VERSION, readableFrom: READS_GROUPS_FROM });
    for (const before of [{ version: READS_GROUPS_FROM - 1, readableFrom: 1 }, { version: 1 }]) {
      await schemaOf(own()).replaceOne({ _id: 'schema' }, before);
      await migrateMongo(place());
      expect(await schemaOf(own()).findOne()).to.include({ version: SCHEMA_VERSION, readableFrom: READABLE_FROM });
    }
  });

  it('groups ledger entries exactly where no release before can use it', async () => {
    for (const [readableFrom, documents] of [
      [READS_GROUPS_FROM - 1, FLUSH_FROM],
      [READS_GROUPS_FROM, 1],
    ] as const) {
      await own().db.dropDatabase();
      await migrateMongo(place());
      await schemaOf(own()).updateOne({ _id: 'schema' }, { $set: { readableFrom } });
      const stores = await openMongo(place());
      const account = anAccount(1);
      await stores.accounts.create(account);
      const entries = Array.from({ length: FLUSH_FROM }, (_, index) => anEntry(account, index + 1));
      expect(await stores.accounts.apply(aChange(account, { lastSequence: FLUSH_FROM, entries }))).to.equal('applied');
      await stores.close();
      expect(await own().db.collection('entries').countDocuments()).to.equal(documents);
    }
  });

  it('is refused when it was last set up by an older release', async () => {
    await migrateMongo(place());
    await schemaOf(own()).updateOne({ _id: 'schema' }, { $set: { version: SCHEMA_VERSION - 1 } });
    expect(await refusal(openMongo(place())))
      .to.include(`needs ${SCHEMA_VERSION}`)
      .and.include('darkroom migrate');
    expect(await migrateMongo(place())).to.deep.equal([`The schema is of version ${SCHEMA_VERSION}.`]);
  });

  it('is refused when an index is missing or is another one', async () => {
    await migrateMongo(place());
    const claims = own().db.collection('claims');
    await claims.dropIndex('claims_by_removal');
    expect(await refusal(openMongo(place())))
      .to.include('claims_by_removal')
      .and.include('missing');
    await claims.createIndex({ removeAt: -1 }, { name: 'claims_by_removal' });
    expect(await refusal(openMongo(place())))
      .to.include('claims_by_removal')
      .and.include('other keys');
  });

  it('is ready until it is closed, and answers nothing afterwards', async () => {
    await migrateMongo(place());
    const stores = await openMongo(place());
    expect(await stores.isReady()).to.equal(true);
    await stores.close();
    expect(await stores.isReady()).to.equal(false);
    expect(
      await stores.generations.read(uuidAt(1)).then(
        () => undefined,
        (error: unknown) => error,
      ),
    ).to.be.instanceOf(StoreUnavailable);
  });

  it('gives up on an operation that would never end', async () => {
    const hasty = await MongoConnection.open({ ...place(), timeoutMs: 50 });
    expect(
      await hasty.ask(() => new Promise<never>(() => undefined)).catch((error: unknown) => error),
    ).to.be.instanceOf(StoreUnavailable);
    await hasty.close();
  });

  it('returns unchanged all names and texts that clients and operators chose', async () => {
    await migrateMongo(place());
    const stores = await openMongo(place());
    const parameters = {
      '$set': { 'a.b': 1, '': [null, { $literal: '$$ROOT' }] },
      'constructor': 'c',
      ['__proto__']: { toString: 1 },
      'deep': nested(110),
      'lone': '\ud800',
      'nul\0': '\0',
      'big': 1e300,
    };
    const generation = aGeneration(1, { parameters: parameters as never, prompt: '\ud83d' });
    await stores.generations.insert(generation);
    expect(await stores.generations.read(uuidAt(1))).to.deep.equal(generation);
    await stores.close();
  });
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = { 'x.y': [value] };
  return value;
}

function settingUp(place: () => FreshDatabase, own: () => MongoConnection): void {
  it('creates exactly what the schema says, reports each thing in a line, and nothing when repeated', async () => {
    const lines = await migrateMongo(place());
    const collections = schemaCollections();
    expect(lines).to.have.length(collections.length + collections.flatMap(([, { indexes }]) => indexes).length + 1);
    for (const line of lines) expect(line).to.match(/^[A-Z].*\.$/);
    expect((await own().db.collections()).map(({ collectionName }) => collectionName).sort()).to.deep.equal(
      collections.map(([name]) => name).sort(),
    );
    for (const [name, { indexes }] of collections) {
      const found = (await own().db.collection(name).indexes()).filter((index) => index.name !== '_id_');
      expect(
        found.map((index) => [index.name, index.key, index.unique ?? false, index.partialFilterExpression]),
        name,
      ).to.have.deep.members(indexes.map((index) => [index.name, index.keys, index.unique ?? false, index.where]));
      for (const index of found) expect(index, name).not.to.have.property('expireAfterSeconds');
    }
    expect(await migrateMongo(place())).to.deep.equal([]);
  });

  it('lends the wake-ups that are set up in it all that an open one lends', async () => {
    const { url, database } = place();
    const needs = {
      options: { url, database, pool_size: 5, timeout_seconds: 5 },
      dataFolder: '/nowhere',
      clock: new SystemClock(),
      log: { info: () => undefined, warn: () => undefined },
    };
    let lent: Lent = {};
    await mongoDriver.migrate(needs, async (beside) => {
      lent = beside;
      return [];
    });
    expect(Object.keys(lent)).to.have.members(mongoDriver.lends);
  });

  it('sets up what other stores keep in it with the same time limit, after its own, and reports both', async () => {
    const lines = await migrateMongo(place(), async (beside) => [
      `Made ${beside.db.databaseName}.`,
      `${await beside.ask(({ maxTimeMS }) => Promise.resolve(maxTimeMS))}`,
    ]);
    expect(lines.slice(-3)).to.deep.equal([
      `The schema is of version ${SCHEMA_VERSION}.`,
      `Made ${place().database}.`,
      '3600000',
    ]);
  });

  it('is done once by eight processes at once', async () => {
    await Promise.all(Array.from({ length: 8 }, () => migrateMongo(place())));
    expect(await migrateMongo(place())).to.deep.equal([]);
    await (await openMongo(place())).close();
  });

  it('is completed by the next after an interruption', async () => {
    await own().db.createCollection('accounts');
    await own().db.collection('uploads').createIndex({ attentionAt: 1, _id: 1 }, { name: 'uploads_by_attention' });
    await own().db.collection('uploads').insertOne({ attentionAt: 1 });
    const lines = await migrateMongo(place());
    expect(lines)
      .not.to.include('Made collection accounts.')
      .and.not.to.include('Made index uploads_by_attention on uploads.');
    await (await openMongo(place())).close();
  });

  it('is refused when one of our indexes has other keys, with instructions', async () => {
    await own().db.collection('keys').createIndex({ digest: 1 }, { name: 'keys_by_digest' });
    expect(await refusal(migrateMongo(place())))
      .to.include('keys_by_digest')
      .and.include('drop');
  });

  it('can be sharded: what is unique is so within the shard key', () => {
    for (const [name, { shardKey, indexes }] of schemaCollections()) {
      for (const index of indexes)
        if (index.unique && shardKey !== null)
          expect(Object.keys(index.keys)[0], name).to.equal(Object.keys(shardKey)[0]);
    }
  });
}

function installing(place: () => FreshDatabase): void {
  const facts = { secret: 'one', objects: 'one' };

  it('is claimed by the first process, and tells any other which facts differ', async () => {
    await migrateMongo(place());
    const options: MongoOptions = place();
    const [one, two] = [await openMongo(options), await openMongo(options)];
    expect(await one.installation.claim(facts)).to.equal('same');
    for (const { installation } of [one, two]) {
      expect(await installation.claim(facts)).to.equal('same');
      expect(await installation.claim({ ...facts, secret: 'two' })).to.deep.equal({ other: 'secret' });
      expect(await installation.claim({ ...facts, objects: 'two' })).to.deep.equal({ other: 'objects' });
    }
    await Promise.all([one.close(), two.close()]);
  });

  it('is claimed for one set of facts, though many processes come concurrently with different ones', async () => {
    await migrateMongo(place());
    const stores = await openMongo(place());
    const answers = await Promise.all(
      Array.from({ length: 32 }, (_, n) => stores.installation.claim({ ...facts, secret: `secret ${n % 4}` })),
    );
    const same = new Set(answers.flatMap((answer, n) => (answer === 'same' ? n % 4 : [])));
    expect(same.size).to.equal(1);
    expect(answers.filter((answer) => answer === 'same')).to.have.length(8);
    await stores.close();
  });
}

// Goal: a process relies on a change stream only if it notifies promptly, and on the order of one command's writes only
// if they are in one log: on a replica set, not on a sharded cluster.
// Method: answers to `hello` as servers give them; then stores over a connection that received each of them.

/** A part of the answer of MongoDB 7. */
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

  it('decides whether a process receives the generation changes of others', async function stores() {
    const connection = await MongoConnection.open(freshDatabase(await orSkip(this, mongoServer('replica-set'))));
    const tells = (hello: object): boolean => {
      const told = Object.create(connection, { deployment: { value: deploymentOf(hello) } }) as MongoConnection;
      return storesOver(told, { form: 'grouped' }).generationChanges !== undefined;
    };
    expect([ALONE, MEMBER, ROUTER].map(tells)).to.deep.equal([false, true, false]);
    await connection.close();
  });
});

// Goal: with any connection string, writes are acknowledged by a majority and journalled, and reads return what a
// majority of the primary's set has; a connection string that reaches no such server is refused with the information
// that an operator needs.
// Method: connections by strings that ask for less, and the concerns that the driver then uses; strings with one
// mistake each.

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

  /** On a busy machine the cause may be unknown at the timeout; the test then retries with twice the time. */
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

  it('reports another replica set', async () => {
    const { host } = new URL(server.url);
    await expectRefusal(
      `mongodb://${host}/?replicaSet=another`,
      `MongoDB at ${host} does not answer as a member of the replica set another.`,
    );
  });

  it('reports a missing listener, without the password', async () => {
    await expectRefusal(
      'mongodb://user:hunter2@127.0.0.1:9/',
      'MongoDB at 127.0.0.1:9 does not answer (connect ECONNREFUSED 127.0.0.1:9).',
    );
  });
});
