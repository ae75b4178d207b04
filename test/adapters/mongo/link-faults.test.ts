// Goal: whatever is asked of MongoDB has an answer within its time when the link swallows everything, is cut or is slow, and
// everything works again when the link does; what such an outage is called is an outage.
// Method: a TCP proxy between the stores and a real server, whose faults are put on and taken off.
import { expect } from 'chai';
import { migrateMongo, openMongo, type MongoStores } from '../../../adapters/mongo/open-mongo.js';
import { CallOver } from '../../../core/call-scope.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { TestedCall } from '../../fixtures/call-scope.js';
import { aChange, aClaim, aGeneration, anAccount, anApiKey, anUpload, uuidAt } from '../../fixtures/stored-records.js';
import { TcpLink } from '../../fixtures/tcp-link.js';
import { MONGO_KINDS } from '../../harness/store-pairs.js';
import { freshDatabase, type FreshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, orSkip, toxiproxyServer, type MongoServer, type ToxiproxyServer } from '../../servers/servers.js';

const TIMEOUT_MS = 400;
/** What is meant by "about" its time, on a machine that does many things at once. */
const PATIENCE_MS = 3_000;

/** One call of each kind on every store. */
const calls = (stores: MongoStores): readonly (() => Promise<unknown>)[] => [
  () => stores.accounts.read(uuidAt(1)), () => stores.accounts.create(anAccount(2)), () => stores.accounts.apply(aChange(anAccount(1))),
  () => stores.accounts.entries(uuidAt(1), { limit: 1 }), () => stores.accounts.holdsBefore(1, { limit: 1 }), () => stores.accounts.list({ limit: 1 }),
  () => stores.generations.insert(aGeneration(2)), () => stores.generations.due(1, 1), () => stores.uploads.replace(anUpload(1), 0),
  () => stores.claims.insert(aClaim(1)), () => stores.claims.removeExpired(1, 1), () => stores.credentials.findKey({ digest: anApiKey(1).digest }),
  () => stores.wakeUpTable.upsert(uuidAt(1), 1), () => stores.wakeUpTable.due(1, 1), () => stores.installation.claim({ secret: 's', objects: 'o' }),
];

for (const lane of MONGO_KINDS) {
  describe(`The link to MongoDB, ${lane}`, () => {
    let server: MongoServer;
    let toxiproxy: ToxiproxyServer;
    let database: FreshDatabase;
    let link: TcpLink;
    let stores: MongoStores;
    before(async function servers() {
      server = await orSkip(this, mongoServer(lane));
      toxiproxy = await orSkip(this, toxiproxyServer());
    });
    beforeEach(async () => {
      database = freshDatabase(server);
      await migrateMongo(database);
      const { host } = new URL(server.url);
      link = await TcpLink.open(toxiproxy, host);
      stores = await openMongo({ url: server.url.replace(host, link.address), database: database.database, timeoutMs: TIMEOUT_MS, poolSize: 4 });
      await stores.generations.insert(aGeneration(1));
    });
    afterEach(async () => {
      await link.heal();
      await stores.close();
      await link.close();
      await database.drop();
    });

    async function expectOutage(): Promise<void> {
      const started = performance.now();
      // More at once than there are connections, so that waiting for one is bounded too.
      const outcomes = await Promise.all(calls(stores).map((call) => call().then(() => 'answered', (error: unknown) => error)));
      for (const [index, outcome] of outcomes.entries()) expect(outcome, `call ${index}`).to.be.instanceOf(StoreUnavailable);
      expect(performance.now() - started).to.be.below(TIMEOUT_MS + PATIENCE_MS);
      expect(await stores.isReady()).to.equal(false);
    }

    async function expectRecovered(): Promise<void> {
      while (!(await stores.isReady()));
      expect(await stores.generations.read(uuidAt(1))).to.deep.equal(aGeneration(1));
      for (const call of calls(stores)) await call();
    }

    it('swallows everything: every call ends in time as an outage, and works again afterwards', async () => {
      await link.swallow();
      await expectOutage();
      await link.heal();
      await expectRecovered();
    });

    it('swallows answers alone: what was written stands, and a repeat does no harm', async () => {
      await link.fail({ type: 'timeout', stream: 'downstream', attributes: { timeout: 0 } });
      expect(await stores.generations.insert(aGeneration(5)).catch((error: unknown) => error)).to.be.instanceOf(StoreUnavailable);
      await link.heal();
      while (!(await stores.isReady()));
      expect(await stores.generations.insert(aGeneration(5, { version: 9 }))).to.deep.equal({ inserted: false, existing: aGeneration(5) });
    });

    it('is cut: every call ends in time as an outage, and works again afterwards', async () => {
      await link.cut();
      await expectOutage();
      await link.heal();
      await expectRecovered();
    });

    it('is slower than anybody may wait: every call ends in time as an outage, and works again afterwards', async () => {
      await link.fail({ type: 'latency', stream: 'downstream', attributes: { latency: 5 * TIMEOUT_MS } });
      await expectOutage();
      await link.heal();
      await expectRecovered();
    });

    it('swallows everything: a read ends as soon as its call does, and not when MongoDB has had its time', async () => {
      const patient = await openMongo({ url: server.url.replace(new URL(server.url).host, link.address), database: database.database, timeoutMs: 60_000 });
      await patient.generations.read(uuidAt(1));
      await link.swallow();
      const ended = Array.from({ length: 3 }, () => new TestedCall());
      const reads = [
        patient.generations.read(uuidAt(1), ended[0]), patient.accounts.entries(uuidAt(1), { limit: 1 }, ended[1]), patient.credentials.listKeys(uuidAt(1), { limit: 1 }, ended[2]),
      ].map((read) => read.catch((error: unknown) => error));
      for (const call of ended) call.end();
      for (const outcome of await Promise.all(reads)) expect(outcome).to.be.instanceOf(CallOver);
      expect(ended.map(({ listeners }) => listeners)).to.deep.equal([0, 0, 0]);
      await link.heal();
      await patient.close();
    });

    it('lets the stores close while it swallows everything', async () => {
      await stores.accounts.create(anAccount(1));
      await link.swallow();
      const started = performance.now();
      await stores.close();
      expect(performance.now() - started).to.be.below(2 * PATIENCE_MS);
    });
  });
}
