import type { Db } from 'mongodb';
import { MongoRefused } from './mongo-refused.js';
import { INSTALLATION, READABLE_FROM, SCHEMA_VERSION } from './schema.js';
import { isDuplicateKey } from './store-errors.js';

interface SchemaDocument {
  readonly _id: 'schema';
  readonly version: number;
  readonly readableFrom?: number;
}

/** What a database says of its schema. */
export interface SchemaState {
  /** 0 for a database that was never set up. */
  readonly version: number;
  /** The oldest version a program may know to use it. */
  readonly readableFrom: number;
}

/** The version of the schema, as the database says it. */
export function schemaVersions(db: Db) {
  const collection = db.collection<SchemaDocument>(INSTALLATION);
  const newest = { version: SCHEMA_VERSION, readableFrom: READABLE_FROM };
  const raise = () => collection.updateOne({ _id: 'schema' }, { $max: newest }, { upsert: true });
  return {
    async read(): Promise<SchemaState> {
      const { version = 0, readableFrom = 1 } = (await collection.findOne({ _id: 'schema' })) ?? {};
      return { version, readableFrom };
    },

    /** Never lowers any of it. Answers whether some of it was lower before. */
    async raise(): Promise<boolean> {
      // Of two concurrent first writes one may be refused without effect.
      const { modifiedCount, upsertedCount } = await raise().catch((error: unknown) =>
        isDuplicateKey(error) ? raise() : Promise.reject(error),
      );
      return modifiedCount + upsertedCount > 0;
    },
  };
}

/** Throws `MongoRefused` for a database that a newer release has made unreadable for this one. */
export function checkReadable(database: string, { version, readableFrom }: SchemaState): void {
  if (readableFrom <= SCHEMA_VERSION) return;
  const needed = `which needs a release that knows ${readableFrom}, and this one knows ${SCHEMA_VERSION}`;
  throw new MongoRefused(
    `Database ${database} has schema ${version}, ${needed}; use the release that wrote it, or a later one.`,
  );
}
