import { MongoConnection, type MongoOptions } from '../../../adapters/mongo/connection.js';
import { migrateMongo, storesOver, type MongoStores } from '../../../adapters/mongo/open-mongo.js';
import type { ContractSubject } from '../../contracts/subject.js';
import { freshDatabase, type FreshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, orSkip } from '../../servers/servers.js';
import { ExplainedCommands } from './explained-commands.js';

const LANES = ['replica-set', 'standalone'] as const;

/** A database of a suite's own, ready to be used, and everything the suite opened of it. */
export class MongoPlace {
  private database: FreshDatabase | undefined;
  private connection: MongoConnection | undefined;
  private explained: ExplainedCommands | undefined;
  private readonly opened = new Set<MongoStores>();

  async prepare(database: FreshDatabase): Promise<void> {
    this.database = database;
    await migrateMongo(this.options);
    this.connection = await MongoConnection.open(this.options, { monitorCommands: true });
    this.explained = new ExplainedCommands(this.connection.db);
  }

  get options(): MongoOptions {
    if (this.database === undefined) throw new Error('The suite has no database.');
    return { url: this.database.url, database: this.database.database };
  }

  get commands(): ExplainedCommands {
    if (this.explained === undefined) throw new Error('The suite has no database.');
    return this.explained;
  }

  /** The stores over the emptied database. */
  async open(): Promise<MongoStores> {
    if (this.connection === undefined) throw new Error('The suite has no database.');
    await this.settle();
    const collections = await this.connection.db.collections();
    await Promise.all(collections.map((collection) => collection.deleteMany(collection.collectionName === 'installation' ? { _id: 'facts' as never } : {})));
    const stores = storesOver(this.connection);
    this.opened.add(stores);
    return stores;
  }

  /** Waits until nothing that was opened writes any more. */
  async settle(): Promise<void> {
    await Promise.all([...this.opened].map(({ accounts }) => accounts.close()));
    this.opened.clear();
  }

  async remove(): Promise<void> {
    await this.settle();
    await this.connection?.close();
    await this.database?.drop();
  }
}

/**
 * A suite on each kind of server, with a database of its own that goes afterwards. Whatever it asks the server for is
 * explained at the end, and must have gone by an index.
 */
export function onMongo(title: string, suite: (place: MongoPlace, lane: (typeof LANES)[number]) => void): void {
  for (const lane of LANES) {
    describe(`${title} on MongoDB, ${lane}`, () => {
      const place = new MongoPlace();
      before(async function server() {
        await place.prepare(freshDatabase(await orSkip(this, mongoServer(lane))));
      });
      after(() => place.remove());

      suite(place, lane);

      it('goes by an index whatever it looks for', () => place.commands.expectNoScan());
    });
  }
}

/** One of the stores of a place, for a contract. */
export function mongoSubject<Port extends object>(place: MongoPlace, pick: (stores: MongoStores) => Port): ContractSubject<Port> {
  return {
    name: 'mongo',
    supports: {},
    open: async () => pick(await place.open()),
    close: () => place.settle(),
  };
}
