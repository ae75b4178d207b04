import type { Context } from 'mocha';
import type { JsonObject } from '../../core/json.js';
import { STORE_PAIRS, type StorePair } from '../harness/store-pairs.js';
import { bucketSettings, freshBucket, freshDatabase, freshPostgresDatabase } from '../servers/fresh-places.js';
import { mongoServer, orSkip, postgresServer, s3Server } from '../servers/servers.js';

export interface OpenLane {
  /** The sections of `darkroom.yaml` that choose it. */
  readonly config: JsonObject;
  remove(): Promise<void>;
}

/** One choice of stores for the whole program, each time with separate data. */
export interface Lane {
  readonly name: string;
  /** Whether the database reports the writes of other processes. */
  readonly reportsChanges: boolean;
  /** Skips the suite, or fails it in CI, where a server is absent. */
  open(suite: Context): Promise<OpenLane>;
}

export const EMBEDDED: Lane = {
  name: 'SQLite, files and timers',
  reportsChanges: false,
  open: () => Promise.resolve({ config: {}, remove: () => Promise.resolve() }),
};

function distributed({ mongo, s3 }: StorePair): Lane {
  return {
    name: `MongoDB (${mongo}), ${s3} and Agenda`,
    reportsChanges: mongo === 'replica-set',
    async open(suite) {
      const place = freshDatabase(await orSkip(suite, mongoServer(mongo)));
      const bucket = freshBucket(await orSkip(suite, s3Server(s3)));
      return {
        config: {
          stores: { database: 'mongo', objects: 'minio', wake_ups: 'agenda' },
          mongo: { url: place.url, database: place.database },
          minio: bucketSettings(bucket),
        },
        remove: async () => void (await Promise.all([place.drop(), bucket.remove()])),
      };
    },
  };
}

const POSTGRES: Lane = {
  name: 'PostgreSQL, minio and Agenda',
  reportsChanges: true,
  async open(suite) {
    const place = await freshPostgresDatabase(await orSkip(suite, postgresServer('18')));
    const bucket = freshBucket(await orSkip(suite, s3Server('minio')));
    return {
      config: {
        stores: { database: 'postgres', objects: 'minio', wake_ups: 'agenda' },
        postgres: { url: place.url },
        minio: bucketSettings(bucket),
      },
      remove: async () => void (await Promise.all([place.drop(), bucket.remove()])),
    };
  },
};

/** Each deployment of MongoDB and each object store that this run uses, once; at least one. */
export const ON_MONGO: readonly Lane[] = STORE_PAIRS.map(distributed);

/** PostgreSQL, and the deployments of MongoDB above. */
export const DISTRIBUTED: readonly Lane[] = [POSTGRES, ...ON_MONGO];

export const LANES: readonly Lane[] = [EMBEDDED, ...DISTRIBUTED];
