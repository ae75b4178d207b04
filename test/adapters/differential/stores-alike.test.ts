import { rmSync } from 'node:fs';
import { expect } from 'chai';
import { openSqlite } from '../../../adapters/sqlite/open-sqlite.js';
import { forAll } from '../../harness/for-all.js';
import { sizeOf } from '../../harness/run-sizes.js';
import { MONGO_KINDS } from '../../harness/store-pairs.js';
import { freshDatabase, freshPostgresDatabase } from '../../servers/fresh-places.js';
import { mongoServer, orSkip, postgresServer } from '../../servers/servers.js';
import { MongoPlace } from '../mongo/on-mongo.js';
import { POSTGRES_LANES, PostgresPlace } from '../postgres/on-postgres.js';
import { temporaryFolder } from '../sqlite/sqlite-subject.js';
import { history, type PortCall, type Stores } from './port-calls.js';

// Goal: a history of calls has the same results and errors on every database, for any texts, ids and cursors: what a client
// sees does not depend on the database that the operator chooses.
// Method: random calls on all ports, made one after the other on databases that are empty at first.

interface Place {
  readonly name: string;
  open(): Promise<Opened>;
  remove(): Promise<void>;
}

interface Opened {
  readonly stores: Stores;
  close(): Promise<void>;
}

const sqlite: Place = {
  name: 'SQLite',
  async open() {
    const folder = temporaryFolder();
    const stores = await openSqlite({ folder, role: 'server' });
    return {
      stores,
      close: async () => {
        await stores.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
  remove: () => Promise.resolve(),
};

describe('All databases', () => {
  const places: Place[] = [sqlite];

  before(async function servers() {
    for (const kind of MONGO_KINDS) {
      const place = await MongoPlace.prepare(freshDatabase(await orSkip(this, mongoServer(kind))));
      places.push({
        name: `MongoDB, ${kind}`,
        open: async () => ({ stores: await place.open(), close: () => place.settle() }),
        remove: () => place.remove(),
      });
    }
    for (const { title, version } of POSTGRES_LANES.filter(({ isPooled }) => !isPooled)) {
      const place = await PostgresPlace.prepare(
        await freshPostgresDatabase(await orSkip(this, postgresServer(version))),
      );
      places.push({
        name: title,
        open: async () => ({ stores: await place.open(), close: () => Promise.resolve() }),
        remove: () => place.remove(),
      });
    }
  });
  after(() => Promise.all(places.map((place) => place.remove())));

  it('return the same result for each call', async () => {
    await forAll(sizeOf('storeHistories'), [history], async (calls) => {
      const opened = await Promise.all(places.map((place) => place.open()));
      try {
        for (const [index, call] of calls.entries()) await compare(call, index, opened);
      } finally {
        await Promise.all(opened.map((one) => one.close()));
      }
    });
  });

  /** Calls the first store last, because the arguments are read from it. */
  async function compare(call: PortCall, index: number, opened: readonly Opened[]): Promise<void> {
    const first = opened[0]!.stores;
    const others = await Promise.all(opened.slice(1).map(({ stores }) => outcomeOf(call.run(stores, first))));
    const expected = await outcomeOf(call.run(first, first));
    for (const [other, outcome] of others.entries())
      expect(outcome, `call ${index} on ${places[other + 1]?.name}: ${String(call)}`).to.deep.equal(expected);
  }
});

/** The result of a call, or the kind of its error: the messages of databases differ. */
async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return { returned: await call };
  } catch (error) {
    return { thrown: error instanceof Error ? error.name : typeof error };
  }
}
