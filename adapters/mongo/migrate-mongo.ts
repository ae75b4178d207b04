import type { AnyBulkWriteOperation, Db, Filter, IndexDescriptionInfo, UUID } from 'mongodb';
import { type GenerationRecord, isTerminal, STATUSES } from '../../core/generation/generation.js';
import type { Delivery } from '../../core/webhooks/delivery.js';
import { recordFrom } from '../record-text.js';
import {
  DEFAULT_TIMEOUT_MS,
  isDuplicateKey,
  MongoConnection,
  type MongoOptions,
  MongoRefused,
  serverCode,
} from './connection.js';
import { Documents, unlessTaken } from './documents.js';
import { listedFieldsOfDelivery, type RecordDocument } from './mongo-records.js';
import type { LedgerForm } from './mongo-ledger.js';
import { listedFields } from './mongo-generation-store.js';
import {
  BY_ID,
  type IndexDefinition,
  INSTALLATION,
  READABLE_FROM,
  READS_GROUPS_FROM,
  SCHEMA_VERSION,
  schemaCollections,
} from './schema.js';

/** Sets up something else, and says line by line what it made. */
type SetUpBeside = (connection: MongoConnection) => Promise<readonly string[]>;

const nothingBeside: SetUpBeside = () => Promise.resolve([]);

/** An index over many documents takes its time to build; longer than any request may wait. */
const MIGRATION_TIMEOUT_MS = 3_600_000;

/**
 * Creates the collections and indexes this release needs, and returns a line for each thing created: none if everything
 * existed. Safe to run in many processes concurrently, beside running servers, again after an interruption, and after a
 * newer release: it leaves alone what it does not know. Throws `MongoRefused` when a newer release has made the
 * database unreadable for this one or one of our indexes exists with other keys, and `StoreUnavailable`. Afterwards
 * `beside` sets up what other stores keep in the same database, on a connection with the same long time limit.
 */
export async function migrateMongo(
  options: MongoOptions,
  beside: SetUpBeside = nothingBeside,
): Promise<readonly string[]> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  // Finding the server and a connection is to take no longer than ever; only the commands may.
  const patient = { serverSelectionTimeoutMS: timeoutMs, connectTimeoutMS: timeoutMs, waitQueueTimeoutMS: timeoutMs };
  const connection = await MongoConnection.open(
    { ...options, timeoutMs: Math.max(timeoutMs, MIGRATION_TIMEOUT_MS) },
    patient,
  );
  try {
    return [...(await migrate(connection, options.database)), ...(await beside(connection))];
  } finally {
    await connection.close();
  }
}

async function migrate(connection: MongoConnection, database: string): Promise<string[]> {
  checkReadable(database, await connection.ask(() => schemaVersions(connection.db).read()));
  const done: string[] = [];
  const existing = new Set(
    (await connection.ask(() => connection.db.listCollections({}, { nameOnly: true }).toArray())).map(
      ({ name }) => name,
    ),
  );
  for (const [name, { indexes }] of schemaCollections()) {
    if (!existing.has(name) && (await connection.ask(() => createCollection(connection.db, name))))
      done.push(`Made collection ${name}.`);
    const found = await connection.ask(() => indexesOf(connection.db, name));
    for (const index of indexes) {
      const there = found.get(index.name);
      if (there !== undefined && !isSame(there, index)) throw otherIndex(database, name, index);
      if (there !== undefined) continue;
      await connection
        .ask(() => createIndex(connection.db, name, index))
        .catch((error: unknown) => {
          throw INDEX_CONFLICTS.has(serverCode(error)) || isDuplicateKey(error)
            ? otherIndex(database, name, index, error)
            : error;
        });
      done.push(`Made index ${index.name} on ${name}.`);
    }
  }
  for (const unfilled of UNFILLED) {
    const filled = await fillLists(connection, unfilled);
    const [one, several] = unfilled.names;
    if (filled > 0) done.push(`Filled in what ${filled} ${filled === 1 ? `${one} is` : `${several} are`} listed by.`);
  }
  // Last, so that an interrupted migration does not count as finished.
  if (await connection.ask(() => schemaVersions(connection.db).raise()))
    done.push(`The schema is of version ${SCHEMA_VERSION}.`);
  return done;
}

const NAMESPACE_EXISTS = 48;
const NAMESPACE_NOT_FOUND = 26;
const INDEX_CONFLICTS: ReadonlySet<unknown> = new Set([67, 85, 86]);

/** Whether it was created here; another process may have created it in the meantime. */
async function createCollection(db: Db, name: string): Promise<boolean> {
  try {
    await db.createCollection(name);
    return true;
  } catch (error) {
    if (serverCode(error) === NAMESPACE_EXISTS) return false;
    throw error;
  }
}

async function createIndex(db: Db, collection: string, { name, keys, unique, where }: IndexDefinition): Promise<void> {
  const options = { name, ...(unique ? { unique } : {}), ...(where ? { partialFilterExpression: where } : {}) };
  await db.collection(collection).createIndex(keys, options);
}

function otherIndex(
  database: string,
  collection: string,
  { name, keys }: IndexDefinition,
  cause?: unknown,
): MongoRefused {
  return new MongoRefused(
    `Index ${name} on ${collection} in database ${database} cannot be made with the keys ${JSON.stringify(keys)}; drop the index that conflicts with it, and run darkroom migrate again.`,
    cause,
  );
}

const AT_ONCE = 500;

/** Documents that an older release wrote, without the fields of a later one. */
interface Unfilled {
  readonly collection: 'generations' | 'deliveries';
  readonly names: readonly [one: string, several: string];
  readonly filter: Filter<RecordDocument>;
  readonly fieldsOf: (text: string) => object;
}

const UNFILLED: readonly Unfilled[] = [
  {
    collection: 'generations',
    names: ['generation', 'generations'],
    filter: {
      kind: 'generation',
      $or: [
        { createdAt: { $exists: false } },
        { status: { $in: STATUSES.filter((status) => !isTerminal(status)) }, openState: { $exists: false } },
      ],
    },
    fieldsOf: (text) => listedFields(recordFrom<GenerationRecord>(text)),
  },
  {
    collection: 'deliveries',
    names: ['delivery', 'deliveries'],
    filter: { account: { $exists: false } },
    fieldsOf: (text) => listedFieldsOfDelivery(recordFrom<Delivery>(text)),
  },
];

/**
 * Adds the fields by which documents are listed and counted to those written by an older release. Returns the
 * number of updated documents. Reads the whole collection in the order of its ids. It does not overwrite what
 * another process writes in the meantime.
 */
async function fillLists(connection: MongoConnection, { collection, filter, fieldsOf }: Unfilled): Promise<number> {
  const documents = new Documents<RecordDocument>(connection, collection);
  let filled = 0;
  for (let after: UUID | undefined; ;) {
    const found = await documents.find(
      { ...filter, ...(after === undefined ? {} : { _id: { $gt: after } }) },
      { sort: { _id: 1 }, limit: AT_ONCE, hint: BY_ID },
    );
    const writes = found.map(({ _id, version, record }): AnyBulkWriteOperation<RecordDocument> => {
      return { updateOne: { filter: { _id, version }, update: { $set: fieldsOf(record) } } };
    });
    if (writes.length > 0) {
      const { matchedCount } = await connection.ask((limits) =>
        documents.collection.bulkWrite(writes, { ...limits, ordered: false }),
      );
      filled += matchedCount;
    }
    after = found.at(-1)?._id;
    if (after === undefined || found.length < AT_ONCE) return filled;
  }
}

/** A sentence for each index of the schema that is missing or has other keys. */
export async function indexFaults(connection: MongoConnection): Promise<string[]> {
  const faults = await Promise.all(
    schemaCollections().map(async ([name, { indexes }]) => {
      const found = await connection.ask(() => indexesOf(connection.db, name));
      return indexes.flatMap((wanted) => {
        const index = found.get(wanted.name);
        if (index === undefined) return [`index ${wanted.name} on ${name} is missing`];
        return isSame(index, wanted)
          ? []
          : [`index ${wanted.name} on ${name} has other keys or options than it must have`];
      });
    }),
  );
  return faults.flat();
}

async function indexesOf(db: Db, collection: string): Promise<Map<string, IndexDescriptionInfo>> {
  try {
    const indexes = await db.collection(collection).indexes();
    return new Map(indexes.map((index) => [index.name ?? '', index]));
  } catch (error) {
    if (serverCode(error) === NAMESPACE_NOT_FOUND) return new Map();
    throw error;
  }
}

/** The order of an index's keys matters, so their text is compared in order. */
function isSame(
  { key, unique = false, partialFilterExpression, sparse, expireAfterSeconds }: IndexDescriptionInfo,
  wanted: IndexDefinition,
): boolean {
  if (sparse || expireAfterSeconds !== undefined) return false;
  return (
    JSON.stringify([key, unique, partialFilterExpression ?? null]) ===
    JSON.stringify([wanted.keys, wanted.unique ?? false, wanted.where ?? null])
  );
}

interface SchemaDocument {
  readonly _id: 'schema';
  readonly version: number;
  readonly readableFrom?: number;
}

/** The state of a database's schema. */
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

    /** Never lowers any of it. Returns whether some of it was lower before. */
    async raise(): Promise<boolean> {
      // An insert, so that it is the first or nothing: no release before has used the database then, or will.
      const anew = { _id: 'schema' as const, version: SCHEMA_VERSION, readableFrom: READS_GROUPS_FROM };
      if (await unlessTaken(() => collection.insertOne(anew))) return true;
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
