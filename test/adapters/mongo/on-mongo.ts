import type { Db } from 'mongodb';
import { MongoConnection, type MongoOptions } from '../../../adapters/mongo/connection.js';
import type { LedgerForm } from '../../../adapters/mongo/mongo-ledger.js';
import { migrateMongo, type MongoStores, storesOver } from '../../../adapters/mongo/open-mongo.js';
import type { Log } from '../../../core/log.js';
import type { ContractSubject } from '../../contracts/subject.js';
import { MONGO_KINDS, type StorePair } from '../../harness/store-pairs.js';
import { freshDatabase, type FreshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, orSkip } from '../../servers/servers.js';
import { ExplainedCommands } from './explained-commands.js';

/** Decides how one operation on the server proceeds: usually `operation()`, with something before or after. */
export type Around = <T>(operation: () => Promise<T>) => Promise<T>;

/** The same connection, with every operation going through `around`. */
export function askingThrough(connection: MongoConnection, around: Around): MongoConnection {
  return new Proxy(connection, {
    get(target, property, receiver: MongoConnection) {
      if (property === 'ask')
        return (...asked: Parameters<MongoConnection['ask']>) => around(() => target.ask(...asked));
      // It asks by the method above.
      if (property === 'writeInOrder') return target.writeInOrder.bind(receiver);
      const member: unknown = Reflect.get(target, property, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}

/** Far longer than the server takes on a busy machine. */
const PATIENCE_MS = 120_000;

/** A database of a suite's own, ready to be used, and the stores that the suite opened on it. */
export class MongoPlace {
  readonly commands: ExplainedCommands;
  /** How processes write ledgers here: as in a database that is new, or in one that a release before has made. */
  ledgerForm: LedgerForm = 'grouped';
  private readonly opened = new Set<MongoStores>();

  /** The test's own queries use a separate connection, which is not monitored. */
  private constructor(
    private readonly database: FreshDatabase,
    private readonly connection: MongoConnection,
    private readonly own: MongoConnection,
  ) {
    this.commands = new ExplainedCommands(connection.db);
  }

  static async prepare(database: FreshDatabase): Promise<MongoPlace> {
    await migrateMongo(database);
    const patient = { ...database, timeoutMs: PATIENCE_MS };
    return new MongoPlace(
      database,
      await MongoConnection.open(patient, { monitorCommands: true }),
      await MongoConnection.open(patient),
    );
  }

  get options(): MongoOptions {
    return { url: this.database.url, database: this.database.database };
  }

  get db(): Db {
    return this.own.db;
  }

  /** The stores over the emptied database. */
  async open(): Promise<MongoStores> {
    await this.settle();
    const collections = await this.db.collections();
    await Promise.all(
      collections.map((collection) =>
        collection.deleteMany(collection.collectionName === 'installation' ? { _id: 'facts' as never } : {}),
      ),
    );
    return this.another();
  }

  /** The stores of another process; their operations on the server go through `around`, if given. */
  another(around?: Around, log?: Log): MongoStores {
    const connection = around === undefined ? this.connection : askingThrough(this.connection, around);
    const stores = storesOver(connection, { log, form: this.ledgerForm });
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
    await Promise.all([this.connection.close(), this.own.close()]);
    await this.database.drop();
  }
}

/**
 * A suite for each kind of server, with its own database, which is dropped afterwards. Every query is explained at the
 * end and must have used an index.
 */
export function onMongo(title: string, suite: (place: () => MongoPlace, lane: StorePair['mongo']) => void): void {
  for (const lane of MONGO_KINDS) {
    describe(`${title} on MongoDB, ${lane}`, () => {
      let place: MongoPlace | undefined;
      before(async function server() {
        place = await MongoPlace.prepare(freshDatabase(await orSkip(this, mongoServer(lane))));
      });
      after(() => place?.remove());
      const prepared = (): MongoPlace => {
        if (place === undefined) throw new Error('The suite has no database.');
        return place;
      };

      suite(prepared, lane);

      // In a separate suite, because mocha runs tests beside suites before those suites.
      describe('every operation on the server', () => {
        it('finds documents by an index', () => prepared().commands.expectNoScan());
        it('lists documents in the order of an index', () => prepared().commands.expectOrderOfIndex());
        it('writes, and reads ledgers, by the shard key', () => prepared().commands.expectShardKeys());
      });
    });
  }
}

/** One of the stores of a place, for a contract. */
export function mongoSubject<Port extends object>(
  place: () => MongoPlace,
  pick: (stores: MongoStores) => Port,
): ContractSubject<Port> {
  return {
    name: 'mongo',
    supports: {},
    open: async () => pick(await place().open()),
    close: () => place().settle(),
  };
}
