// Goal: every call to MongoDB ends within its time limit when the link swallows everything, is cut or is slow, and
// works again once the link does; such a failure is reported as an outage.
// Method: a TCP proxy between the stores and a real server, with faults that are switched on and off. A call is shown
// to end in time by other stores with a much longer timeout, which still wait. Calls that must succeed are retried,
// since a busy machine may be slow.
import { expect } from 'chai';
import { migrateMongo, type MongoStores, openMongo } from '../../../adapters/mongo/open-mongo.js';
import { CallOver } from '../../../core/cancellation.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { aChange, aClaim, aGeneration, anAccount, anApiKey, anUpload, uuidAt } from '../../fixtures/stored-records.js';
import { TcpLink } from '../../fixtures/tcp-link.js';
import { MONGO_KINDS } from '../../harness/store-pairs.js';
import { freshDatabase, type FreshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, type MongoServer, orSkip, toxiproxyServer, type ToxiproxyServer } from '../../servers/servers.js';

const TIMEOUT_MS = 400;
const PATIENT_MS = 60 * TIMEOUT_MS;

/** One call of each kind on every store. */
const calls = (stores: MongoStores): readonly (() => Promise<unknown>)[] => [
  () => stores.accounts.read(uuidAt(1)),
  () => stores.accounts.create(anAccount(2)),
  () => stores.accounts.apply(aChange(anAccount(1))),
  () => stores.accounts.entries(uuidAt(1), { limit: 1 }),
  () => stores.accounts.holdsBefore(1, { limit: 1 }),
  () => stores.accounts.list({ limit: 1 }),
  () => stores.generations.insert(aGeneration(2)),
  () => stores.generations.due(1, 1),
  () => stores.uploads.replace(anUpload(1), 0),
  () => stores.claims.insert(aClaim(1)),
  () => stores.claims.removeExpired(1, 1),
  () => stores.credentials.findKey({ digest: anApiKey(1).digest }),
  () => stores.wakeUpTable.upsert(uuidAt(1), 1),
  () => stores.wakeUpTable.due(1, 1),
  () => stores.installation.claim({ secret: 's', objects: 'o' }),
];

/** Retries until the answer is not an outage. */
async function again<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  }
}

for (const lane of MONGO_KINDS) {
  describe(`The link to MongoDB, ${lane}`, () => {
    let server: MongoServer;
    let toxiproxy: ToxiproxyServer;
    let database: FreshDatabase;
    let link: TcpLink;
    let stores: MongoStores;
    let patient: MongoStores;
    let controls: Promise<void>[];

    function throughLink(timeoutMs: number): Promise<MongoStores> {
      const { host } = new URL(server.url);
      return openMongo({
        url: server.url.replace(host, link.address),
        database: database.database,
        timeoutMs,
        poolSize: 4,
      });
    }

    before(async function servers() {
      server = await orSkip(this, mongoServer(lane));
      toxiproxy = await orSkip(this, toxiproxyServer());
    });
    beforeEach(async () => {
      controls = [];
      database = freshDatabase(server);
      await migrateMongo(database);
      const { host } = new URL(server.url);
      link = await TcpLink.open(toxiproxy, host);
      stores = await again(() => throughLink(TIMEOUT_MS));
      patient = await throughLink(PATIENT_MS);
      await patient.generations.insert(aGeneration(1));
    });
    afterEach(async () => {
      await link.heal();
      await Promise.all([stores.close(), patient.close(), ...controls]);
      await link.close();
      await database.drop();
    });

    /** Begins to open stores with a much longer timeout than that of `stores`; returns whether they still wait. */
    function control(): () => boolean {
      let isWaiting = true;
      controls.push(
        throughLink(PATIENT_MS)
          .then((opened) => opened.close())
          .catch(() => undefined)
          .finally(() => {
            isWaiting = false;
          }),
      );
      return () => isWaiting;
    }

    async function expectOutage(): Promise<void> {
      const isControlWaiting = control();
      // More at once than there are connections, so that waiting for one is bounded too.
      const outcomes = await Promise.all(
        calls(stores).map((call) =>
          call().then(
            () => 'answered',
            (error: unknown) => error,
          ),
        ),
      );
      for (const [index, outcome] of outcomes.entries())
        expect(outcome, `call ${index}`).to.be.instanceOf(StoreUnavailable);
      expect(isControlWaiting(), 'stores with much more time').to.equal(true);
      expect(await stores.isReady()).to.equal(false);
    }

    async function expectRecovered(): Promise<void> {
      while (!(await stores.isReady()));
      expect(await again(() => stores.generations.read(uuidAt(1)))).to.deep.equal(aGeneration(1));
      for (const call of calls(stores)) await again(call);
    }

    it('swallows everything: every call ends in time as an outage, and works again afterwards', async () => {
      await link.swallow();
      await expectOutage();
      await link.heal();
      await expectRecovered();
    });

    it('swallows only answers: writes persist, and a repeat changes nothing', async () => {
      const direct = await openMongo({ url: server.url, database: database.database });
      let written: number | undefined;
      // A write that times out before the server performs it leaves nothing: then another is made, with more time.
      for (let [n, timeoutMs] = [5, TIMEOUT_MS]; written === undefined; [n, timeoutMs] = [n + 1, 2 * timeoutMs]) {
        const hasty = await again(() => throughLink(timeoutMs));
        await link.fail({ type: 'timeout', stream: 'downstream', attributes: { timeout: 0 } });
        expect(await hasty.generations.insert(aGeneration(n)).catch((error: unknown) => error)).to.be.instanceOf(
          StoreUnavailable,
        );
        if ((await direct.generations.read(uuidAt(n))) !== null) written = n;
        await link.heal();
        await hasty.close();
      }
      await direct.close();
      while (!(await stores.isReady()));
      expect(await again(() => stores.generations.insert(aGeneration(written, { version: 9 })))).to.deep.equal({
        inserted: false,
        existing: aGeneration(written),
      });
    });

    it('is cut: every call ends in time as an outage, and works again afterwards', async () => {
      await link.cut();
      await expectOutage();
      await link.heal();
      await expectRecovered();
    });

    it('is slower than every time limit: every call ends in time as an outage, and works again afterwards', async () => {
      await link.fail({ type: 'latency', stream: 'downstream', attributes: { latency: PATIENT_MS } });
      await expectOutage();
      await link.heal();
      await expectRecovered();
    });

    it('swallows everything: a read ends as soon as its call does, and not at the timeout of MongoDB', async () => {
      await patient.generations.read(uuidAt(1));
      await link.swallow();
      const ended = Array.from({ length: 3 }, () => new TestedCall());
      const reads = [
        patient.generations.read(uuidAt(1), ended[0]),
        patient.accounts.entries(uuidAt(1), { limit: 1 }, ended[1]),
        patient.credentials.listKeys(uuidAt(1), { limit: 1 }, ended[2]),
      ].map((read) => read.catch((error: unknown) => error));
      for (const call of ended) call.end();
      for (const outcome of await Promise.all(reads)) expect(outcome).to.be.instanceOf(CallOver);
      expect(ended.map(({ listeners }) => listeners)).to.deep.equal([0, 0, 0]);
    });

    it('lets the stores close while it swallows everything', async () => {
      await again(() => stores.accounts.create(anAccount(1)));
      await link.swallow();
      const isControlWaiting = control();
      await stores.close();
      expect(isControlWaiting(), 'stores with much more time').to.equal(true);
    });
  });
}
