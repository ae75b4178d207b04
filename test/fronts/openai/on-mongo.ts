// Makes mocha run the suites of this folder on MongoDB, an S3 store and Agenda; CONTRIBUTING.md has the command.
// A suite that brings an object store of its own keeps it.
import { AgendaWakeUps } from '../../../adapters/agenda/agenda-wake-ups.js';
import type { Clock } from '../../../core/ports/machine.js';
import { DATABASE_PORTS, pickPorts } from '../../../core/ports/ports.js';
import { asked } from '../../adapters/agenda/mongo-place.js';
import { openIn } from '../../adapters/minio/minio-buckets.js';
import { MongoPlace } from '../../adapters/mongo/on-mongo.js';
import type { OpenedPorts } from '../../harness/service-harness.js';
import { LAST_PAIR } from '../../harness/store-pairs.js';
import { freshBucket, type FreshBucket, freshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, orSkip, s3Server } from '../../servers/servers.js';
import { chooseStores } from './chosen-stores.js';

const places: MongoPlace[] = [];
/** Those that no service is using. */
const free: MongoPlace[] = [];
let bucket: FreshBucket | undefined;

/** Called by mocha, once. */
export const mochaHooks = {
  async beforeAll(this: Mocha.Context): Promise<void> {
    await orSkip(this, mongoServer(LAST_PAIR.mongo));
    bucket = freshBucket(await orSkip(this, s3Server(LAST_PAIR.s3)));
    await openIn(bucket);
    chooseStores(open);
  },
  async afterAll(): Promise<void> {
    for (const { commands } of places) {
      await commands.expectNoScan();
      commands.expectShardKeys();
    }
    await Promise.all([...places.map((place) => place.remove()), bucket?.remove()]);
  },
};

/** A database of its own for each service that is open, emptied. */
async function open(clock: Clock): Promise<OpenedPorts> {
  const place = free.pop() ?? (await newPlace());
  const stores = await place.open();
  const wakeUps = await AgendaWakeUps.open({ database: asked(place.db), clock, wokenBy: LAST_PAIR.wokenBy });
  return {
    ports: {
      ...pickPorts(stores, DATABASE_PORTS),
      objects: await openIn(bucket as FreshBucket),
      wakeUps,
    },
    close: async () => {
      await wakeUps.stop();
      await place.settle();
      free.push(place);
    },
  };
}

async function newPlace(): Promise<MongoPlace> {
  const place = await MongoPlace.prepare(freshDatabase(await mongoServer(LAST_PAIR.mongo)));
  await asked(place.db).migrate();
  places.push(place);
  return place;
}
