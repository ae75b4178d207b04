import type { Db } from 'mongodb';
import { MongoRefused } from './mongo-refused.js';
import type { LedgerForm } from './moved-entries.js';
import { INSTALLATION, READABLE_FROM, READS_GROUPS_FROM, SCHEMA_VERSION } from './schema.js';
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
  return {
    async read(): Promise<SchemaState> {
      const { version = 0, readableFrom = 1 } = (await collection.findOne({ _id: 'schema' })) ?? {};
      return { version, readableFrom };
    },

    /** Never lowers any of it. Answers whether some of it was lower before. */
    async raise(): Promise<boolean> {
      // An insert, so that it is the first or nothing: no release before has used the database then, or will.
      const anew = { _id: 'schema' as const, version: SCHEMA_VERSION, readableFrom: READS_GROUPS_FROM };
      const isNew = await collection.insertOne(anew).then(
        () => true,
        (error: unknown) => (isDuplicateKey(error) ? false : Promise.reject(error)),
      );
      if (isNew) return true;
      const newest = { version: SCHEMA_VERSION, readableFrom: READABLE_FROM };
      return (await collection.updateOne({ _id: 'schema' }, { $max: newest })).modifiedCount > 0;
    },
  };
}

/** How the entries of ledgers are written in a database: so that every release that may use it reads them. */
export function ledgerFormOf({ readableFrom }: SchemaState): LedgerForm {
  return readableFrom >= READS_GROUPS_FROM ? 'grouped' : 'single';
}

/** Throws `MongoRefused` for a database that a newer release has made unreadable for this one. */
export function checkReadable(database: string, { version, readableFrom }: SchemaState): void {
  if (readableFrom <= SCHEMA_VERSION) return;
  const needed = `which needs a release that knows ${readableFrom}, and this one knows ${SCHEMA_VERSION}`;
  throw new MongoRefused(
    `Database ${database} has schema ${version}, ${needed}; use the release that wrote it, or a later one.`,
  );
}
