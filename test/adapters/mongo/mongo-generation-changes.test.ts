// Goal: a change stream tells a process what others write of generations, and whoever watches them over a link that fails
// hears of every write all the same.
// Method: the contract on a replica set; then a proxy between the process that watches and the server, cut while another one
// writes.
import { expect } from 'chai';
import { MongoConnection } from '../../../adapters/mongo/connection.js';
import { migrateMongo, type MongoStores, openMongo, storesOver } from '../../../adapters/mongo/open-mongo.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import type { GenerationRecord } from '../../../core/generation/generation.js';
import { AppWatch, GenerationWatch } from '../../../core/generation/watch.js';
import {
  type ChangesPlace,
  generationChangesContract,
  ToldListener,
} from '../../contracts/generation-changes.contract.js';
import type { ContractSubject } from '../../contracts/subject.js';
import { aGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { TcpLink } from '../../fixtures/tcp-link.js';
import { until } from '../../fixtures/until.js';
import { freshDatabase, type FreshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, type MongoServer, orSkip, toxiproxyServer } from '../../servers/servers.js';

const TIMEOUT_MS = 2_000;

describe('The changes of generations on MongoDB', () => {
  let server: MongoServer;
  let database: FreshDatabase;

  before(async function servers() {
    server = await orSkip(this, mongoServer('replica-set'));
  });
  beforeEach(async () => {
    database = freshDatabase(server);
    await migrateMongo(database);
  });
  afterEach(() => database.drop());

  const open = (url = server.url): Promise<MongoStores> =>
    openMongo({ url, database: database.database, timeoutMs: TIMEOUT_MS, poolSize: 4 });

  const opened = new Map<ChangesPlace, readonly MongoStores[]>();
  const subject: ContractSubject<ChangesPlace> = {
    name: 'mongo',
    supports: {},
    open: async () => {
      const stores = [await open(), await open()] as const;
      const [{ generationChanges: changes, generations: own }, { generations: other }] = stores;
      if (changes === undefined) throw new Error('A replica set has change streams.');
      const place = { changes, own, other };
      opened.set(place, stores);
      return place;
    },
    close: async (place) => {
      await Promise.all((opened.get(place) ?? []).map((stores) => stores.close()));
    },
  };
  generationChangesContract(subject);

  describe('over a link that fails', () => {
    let link: TcpLink;
    let stores: MongoStores;
    let other: MongoStores;
    let told: ToldListener;
    /** What the watches of one generation and of its App told of it. */
    let heard: { generation: boolean; app: boolean };
    let followNoMore: (() => void)[];

    beforeEach(async function links() {
      const { host } = new URL(server.url);
      link = await TcpLink.open(await orSkip(this, toxiproxyServer()), host);
      [stores, other] = [await open(server.url.replace(host, link.address)), await open()];
      told = new ToldListener();
      stores.generationChanges?.follow(told);
      await until(() => told.openings === 1);
      watchFirst();
    });
    afterEach(async () => {
      for (const follow of followNoMore) follow();
      await link.heal();
      await Promise.all([stores.close(), other.close()]);
      await link.close();
    });

    /** Watches the first generation, and the App that it is of, over the link. */
    function watchFirst(): void {
      const { generationId, appId } = aGeneration(1);
      const ports = { generations: stores.generations, clock: new SystemClock() };
      heard = { generation: false, app: false };
      const note = (by: 'generation' | 'app') => (record: GenerationRecord | null) => {
        if (record?.generationId === generationId) heard[by] = true;
      };
      followNoMore = [
        new GenerationWatch(ports, false, stores.generationChanges).follow(generationId, note('generation')),
        new AppWatch(ports, false, stores.generationChanges).follow(appId, note('app')),
      ];
    }

    const wasTold = (n: number): boolean => told.records.some(({ generationId }) => generationId === uuidAt(n));

    for (const [fault, fail] of [
      ['is cut', () => link.cut()],
      ['swallows everything', () => link.swallow()],
    ] as const)
      it(`${fault}: it says so, and who watches hears of what was written meanwhile`, async () => {
        await fail();
        await other.generations.insert(aGeneration(1));
        // Longer than the driver takes to give up, now and then.
        await until(() => told.interruptions > 0);
        expect(heard).to.deep.equal({ generation: false, app: false });
        await link.heal();
        await until(() => heard.generation && heard.app);
        await until(() => told.openings === 2);
        await other.generations.insert(aGeneration(2));
        await until(() => wasTold(2));
      });

    it('is cut for a moment: everything is heard of', async () => {
      await link.cut();
      await other.generations.insert(aGeneration(1));
      await link.heal();
      await until(() => heard.generation && heard.app);
      await until(() => told.openings === told.interruptions + 1);
      await other.generations.insert(aGeneration(2));
      await until(() => wasTold(2));
    });
  });

  it('are not there on a standalone server, and end with the connection', async function standalone() {
    const alone = await orSkip(this, mongoServer('standalone'));
    const connection = await MongoConnection.open(freshDatabase(alone));
    expect(storesOver(connection, { form: 'grouped' }).generationChanges).to.equal(undefined);
    await connection.close();
    const stores = await open();
    const told = new ToldListener();
    stores.generationChanges?.follow(told);
    await until(() => told.openings === 1);
    await stores.close();
    expect(told.interruptions).to.equal(1);
  });
});
