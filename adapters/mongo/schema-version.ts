import type { Db } from 'mongodb';
import { MongoRefused } from './mongo-refused.js';
import { INSTALLATION, SCHEMA_VERSION } from './schema.js';
import { isDuplicateKey } from './store-errors.js';

interface SchemaDocument {
  readonly _id: 'schema';
  readonly version: number;
}

/** The version of the schema, as the database says it. */
export function schemaVersions(db: Db) {
  const collection = db.collection<SchemaDocument>(INSTALLATION);
  const raise = () => collection.updateOne({ _id: 'schema' }, { $max: { version: SCHEMA_VERSION } }, { upsert: true });
  return {
    /** 0 for a database that was never set up. */
    read: async (): Promise<number> => (await collection.findOne({ _id: 'schema' }))?.version ?? 0,

    /** Never lowers it. Answers whether it was lower before. */
    async raise(): Promise<boolean> {
      // Of two first writes at once one may find the other there, having written nothing.
      const { modifiedCount, upsertedCount } = await raise().catch((error: unknown) => (isDuplicateKey(error) ? raise() : Promise.reject(error)));
      return modifiedCount + upsertedCount > 0;
    },
  };
}

/** Throws `MongoRefused` for a database that a newer release has written. */
export function checkNotNewer(database: string, version: number): void {
  if (version <= SCHEMA_VERSION) return;
  const known = `newer than the ${SCHEMA_VERSION} this release knows`;
  throw new MongoRefused(`Database ${database} has schema ${version}, ${known}; use the release that wrote it, or a later one.`);
}
