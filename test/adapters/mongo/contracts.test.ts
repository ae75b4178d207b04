import { expect } from 'chai';
import type { CommandStartedEvent, Document } from 'mongodb';
import { MongoConnection } from '../../../adapters/mongo/connection.js';
import { migrateMongo, type MongoStores, openMongo, storesOver } from '../../../adapters/mongo/open-mongo.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { TimerWakeUps } from '../../../adapters/timers/timer-wake-ups.js';
import type { GenerationRecord } from '../../../core/generation/generation.js';
import { entryOf } from '../../../core/search/words.js';
import { AppWatch, GenerationWatch } from '../../../core/generation/watch.js';
import type { Ports } from '../../../core/ports/ports.js';
import { acceptanceStoreContract } from '../../contracts/acceptance-store.contract.js';
import { databaseContract } from '../../contracts/database.contract.js';
import { delivery } from '../../contracts/delivery-store.contract.js';
import {
  type ChangesPlace,
  generationChangesContract,
  ToldListener,
} from '../../contracts/generation-changes.contract.js';
import type { ContractSubject } from '../../contracts/subject.js';
import { wakeUpsContract } from '../../contracts/wake-ups.contract.js';
import { ManualClock, settled, until } from '../../fixtures/clocks.js';
import {
  aChange,
  aClaim,
  aGeneration,
  anAccount,
  aTombstone,
  ATTRIBUTION,
  uuidAt,
} from '../../fixtures/stored-records.js';
import { TcpLink } from '../../fixtures/tcp-link.js';
import { freshDatabase, type FreshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, type MongoServer, orSkip, toxiproxyServer } from '../../servers/servers.js';
import { type Around, mongoSubject, onMongo } from './on-mongo.js';

// Goal: the MongoDB stores keep the contracts of their ports, and never scan a whole collection.
// Method: the contracts on a replica set and on a standalone server; the server explains each of the queries.

onMongo('The stores', (place) =>
  databaseContract((port) => mongoSubject(place, (stores) => stores[port] as Ports[typeof port])),
);

// Goal: counting what has not ended costs by what has not ended, and includes what an earlier release wrote.
// Method: the server counts the documents that it examines, before and after many more have ended; documents without the
// fields of this release are migrated.

onMongo('Generations that have not ended', (place) => {
  let connection: MongoConnection;
  let stores: MongoStores;
  let asked: Document[];

  beforeEach(async () => {
    stores = await place().open();
    connection = await MongoConnection.open(place().options, { monitorCommands: true });
    asked = [];
    connection.db.client.on('commandStarted', ({ command }: CommandStartedEvent) => {
      if (command['aggregate'] === 'generations') asked.push(command);
    });
  });
  afterEach(() => connection.close());

  /** Counts on a connection of its own, which notes the command. */
  async function examined(): Promise<number> {
    await storesOver(connection, { form: 'grouped' }).generations.countOpen();
    const { aggregate, pipeline, hint } = asked.at(-1) as Document;
    const explain = { aggregate, pipeline, hint, cursor: {} };
    const stats = JSON.stringify(await connection.db.command({ explain, verbosity: 'executionStats' }));
    const found = [...stats.matchAll(/"total(?:Docs|Keys)Examined":(\d+)/g)].map(([, count]) => Number(count));
    expect(found).not.to.have.length(0);
    return Math.max(...found);
  }

  it('are counted without examining those that have', async () => {
    for (const n of [1, 2, 3]) await stores.generations.insert(aGeneration(n, { status: 'queued' }));
    expect(await examined()).to.equal(3);
    for (let n = 10; n < 110; n += 1) await stores.generations.insert(aGeneration(n, { status: 'succeeded' }));
    expect(await examined()).to.equal(3);
    await stores.generations.replace(aGeneration(1, { status: 'cancelled', version: 1 }), 0);
    expect(await examined()).to.equal(2);
  });

  it('are counted after a migration of what an earlier release wrote', async () => {
    const statuses = ['queued', 'running', 'succeeded'] as const;
    for (const [n, status] of statuses.entries())
      await stores.generations.insert(aGeneration(n, { status, createdAt: 5 }));
    await connection.db.collection('generations').updateMany({}, { $unset: { openState: '', openProvider: '' } });
    expect(await stores.generations.countOpen()).to.deep.equal([]);
    expect(await migrateMongo(place().options)).to.deep.equal(['Filled in what 2 generations are listed by.']);
    const counted = { modelKey: 'sandbox-image', generations: 1, oldestCreatedAt: 5 };
    const counts = await stores.generations.countOpen();
    expect(counts.map(({ provider: _, ...count }) => count)).to.have.deep.members([
      { ...counted, state: 'queued' },
      { ...counted, state: 'running' },
    ]);
    expect(await migrateMongo(place().options)).to.deep.equal([]);
  });
});

// Goal: no word of removed content stays in the database.
// Method: an entry is removed through the store, and all documents of the collection are searched.

onMongo('Words of generations', (place) => {
  it('are in no document once they are removed', async () => {
    const stores = await place().open();
    const connection = await MongoConnection.open(place().options);
    try {
      const entries = connection.db.collection('search_entries');
      const words = async () => JSON.stringify(await entries.find().toArray());
      const record = aGeneration(1, { prompt: 'a concealed word', clientTraceId: 'concealed-trace' });
      await stores.generationSearch.add([entryOf(record)]);
      expect(await words())
        .to.include('concealed')
        .and.include('concealed-trace');
      await stores.generationSearch.remove([record.generationId]);
      await stores.generationSearch.add([entryOf(record)]);
      expect(await words())
        .not.to.include('concealed')
        .and.not.to.include(record.modelKey);
      expect(await entries.countDocuments()).to.equal(1);
    } finally {
      await connection.close();
    }
  });
});

// Goal: the deliveries of an earlier release are listed by account too.
// Method: documents without the fields of this release are migrated.

onMongo('Deliveries', (place) => {
  it('are listed by account after a migration of what an earlier release wrote', async () => {
    const stores = await place().open();
    const connection = await MongoConnection.open(place().options);
    try {
      await stores.deliveries.insert(delivery(1));
      await connection.db.collection('deliveries').updateMany({}, { $unset: { account: '', app: '', generation: '' } });
      const list = () => stores.deliveries.list({ of: 'account', id: delivery(1).accountId }, { limit: 5 });
      expect(await list()).to.deep.equal({ items: [] });
      expect(await migrateMongo(place().options)).to.deep.equal(['Filled in what 1 delivery is listed by.']);
      expect(await list()).to.deep.equal({ items: [delivery(1)] });
    } finally {
      await connection.close();
    }
  });
});

// Goal: wake-ups delivered by timers and kept in MongoDB keep the port's contract, and a process's writes for one
// generation apply in the order in which it made them.
// Method: the contract on a manual clock that waits for pending server operations; then many writes at once.

const underWay = new Set<object>();

const counted: Around = async (operation) => {
  const token = {};
  underWay.add(token);
  try {
    return await operation();
  } finally {
    underWay.delete(token);
  }
};

/** Waits until the server has no pending operations: then all that needs no time to pass has happened. */
async function rest(): Promise<void> {
  do await settled();
  while (underWay.size > 0);
}

onMongo('The table of wake-ups', (place) => {
  const clock = new ManualClock(undefined, rest);
  const reopened = () => new TimerWakeUps({ table: place().another(counted).wakeUpTable, clock });

  wakeUpsContract({
    name: 'timers over mongo',
    async open() {
      await place().open();
      return reopened();
    },
    close: (wakeUps) => wakeUps.stop(),
    supports: {
      now: () => clock.now(),
      elapse: (ms) => clock.advance(ms),
      quietMs: 180_000,
      reopen: async () => reopened(),
    },
  });

  it('keeps the last of many times that one process sets for a generation concurrently', async () => {
    const { wakeUpTable } = await place().open();
    await Promise.all([
      ...Array.from({ length: 50 }, (_, n) => wakeUpTable.upsert(uuidAt(1), n)),
      wakeUpTable.upsert(uuidAt(2), 7),
    ]);
    expect(await wakeUpTable.due(100, 10)).to.deep.equal([
      { key: uuidAt(2), at: 7 },
      { key: uuidAt(1), at: 49 },
    ]);
    expect(await wakeUpTable.nextAt(7)).to.equal(49);
    await Promise.all([wakeUpTable.done(uuidAt(1), 48), wakeUpTable.done(uuidAt(2), 7)]);
    expect(await wakeUpTable.due(100, 10)).to.deep.equal([{ key: uuidAt(1), at: 49 }]);
    expect(await wakeUpTable.nextAt(49)).to.equal(undefined);
  });

  it('accepts the first times that many processes set for a generation concurrently, one after the other', async () => {
    const processes = [await place().open(), place().another(), place().another()];
    await Promise.all(
      processes.flatMap(({ wakeUpTable }) => Array.from({ length: 10 }, (_, n) => wakeUpTable.upsert(uuidAt(1), n))),
    );
    expect(await place().another().wakeUpTable.due(100, 10)).to.have.length(1);
  });
});

// Goal: MongoDB keeps the contract of the acceptance store, and accepts in two commands where one log orders them.
// Method: the contract on real servers; the commands that a batch takes, also one that is refused in its middle.

const ACCOUNT = anAccount(1, { issued: 100, available: 100 });

/** A batch of three generations, on an account at this version without entries. */
function batch(version: number) {
  const numbers = [7, 8, 9];
  const holdsOpened = numbers.map((n) => ({
    generationId: uuidAt(n),
    credits: 0,
    heldAt: 1,
    attribution: ATTRIBUTION,
  }));
  return {
    claims: numbers.map((n) => aClaim(n)),
    change: aChange({ ...ACCOUNT, version }, { holdsOpened }),
    generations: numbers.map((n) => aGeneration(n)),
  };
}

onMongo('Acceptances', (place, lane) => {
  acceptanceStoreContract({
    ...mongoSubject(place, (stores) => stores),
    supports: { oneStep: false },
  });

  describe('the commands of a batch', () => {
    let connection: MongoConnection;
    let stores: MongoStores;
    let commands: string[];

    beforeEach(async () => {
      await place().open();
      connection = await MongoConnection.open(place().options, { monitorCommands: true });
      stores = storesOver(connection, { form: 'grouped' });
      await stores.accounts.create(ACCOUNT);
      await stores.accounts.read(ACCOUNT.accountId);
      commands = [];
      connection.db.client.on('commandStarted', ({ commandName }: CommandStartedEvent) => commands.push(commandName));
    });

    afterEach(async () => connection.close());

    it('are two where one log orders them, and one a record otherwise', async () => {
      expect(await stores.acceptances.accept(batch(0))).to.have.property('outcome', 'accepted');
      expect(commands).to.deep.equal(
        lane === 'replica-set' ? ['insert', 'bulkWrite'] : ['insert', 'update', 'insert', 'insert', 'insert'],
      );
    });

    it('insert nothing behind a change that is not applied', async () => {
      expect(await stores.acceptances.accept(batch(3))).to.have.property('outcome', 'conflict');
      for (const n of [7, 8, 9]) expect(await stores.generations.read(uuidAt(n))).to.equal(null);
      expect((await stores.accounts.read(ACCOUNT.accountId))?.version).to.equal(0);
    });

    it('are two writes for a change that follows on from an older version, where one log orders them', async () => {
      expect(await stores.acceptances.accept(batch(3))).to.have.property('outcome', 'conflict');
      expect(commands).to.deep.equal(
        lane === 'replica-set' ? ['insert', 'bulkWrite', 'find'] : ['insert', 'update', 'find'],
      );
    });

    it('insert what stands behind a generation whose id is taken', async () => {
      await stores.generations.insert(aTombstone(7));
      expect(await stores.acceptances.accept(batch(0))).to.deep.equal({
        outcome: 'accepted',
        existing: [aTombstone(7)],
      });
      for (const n of [8, 9]) expect(await stores.generations.read(uuidAt(n))).to.deep.equal(aGeneration(n));
    });

    it('write nothing for an account that this process has not read, but by its condition', async () => {
      const unread = { ...batch(0), change: { ...batch(0).change, accountId: uuidAt(77) } };
      expect(await stores.acceptances.accept(unread)).to.have.property('outcome', 'conflict');
      expect(commands).to.not.include('bulkWrite');
      expect(await stores.generations.read(uuidAt(7))).to.equal(null);
    });
  });
});

// Goal: a change stream notifies a process of the generations that other processes write, and a watcher over a link that
// fails still receives every write.
// Method: the contract on a replica set; then a proxy between the watching process and the server, cut while another
// process writes.

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
    /** Whether the watch of one generation and the watch of its App reported it. */
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
      it(`${fault}: it reports so, and watchers receive what was written meanwhile`, async () => {
        await fail();
        await other.generations.insert(aGeneration(1));
        // Longer than the driver's timeout, now and then.
        await until(() => told.interruptions > 0);
        expect(heard).to.deep.equal({ generation: false, app: false });
        await link.heal();
        await until(() => heard.generation && heard.app);
        await until(() => told.openings === 2);
        await other.generations.insert(aGeneration(2));
        await until(() => wasTold(2));
      });

    it('is cut for a moment: every write is received', async () => {
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
