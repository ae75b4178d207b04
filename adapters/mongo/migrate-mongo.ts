import type { Db, IndexDescriptionInfo } from 'mongodb';
import { MongoConnection, type MongoOptions } from './connection.js';
import { fillLists } from './fill-lists.js';
import { MongoRefused } from './mongo-refused.js';
import { schemaCollections, SCHEMA_VERSION, type IndexDefinition } from './schema.js';
import { checkReadable, schemaVersions } from './schema-version.js';
import { isDuplicateKey, serverCode } from './store-errors.js';

const NAMESPACE_EXISTS = 48;
const NAMESPACE_NOT_FOUND = 26;
const INDEX_CONFLICTS: ReadonlySet<unknown> = new Set([67, 85, 86]);

/** An index over many documents takes its time to build; longer than any request may wait. */
const MIGRATION_TIMEOUT_MS = 3_600_000;

/** Sets up something else, and says line by line what it made. */
type SetUpBeside = (connection: MongoConnection) => Promise<readonly string[]>;

const nothingBeside: SetUpBeside = () => Promise.resolve([]);

/**
 * Creates the collections and indexes this release needs, and answers a line for each thing created: none if everything
 * existed. Safe to run in many processes concurrently, beside running servers, again after an interruption, and after a
 * newer release: it leaves alone what it does not know. Throws `MongoRefused` when a newer release has made the
 * database unreadable for this one or one of our indexes exists with other keys, and `StoreUnavailable`. Afterwards
 * `beside` sets up what other stores keep in the same database, on a connection with the same long time limit.
 */
export async function migrateMongo(
  options: MongoOptions,
  beside: SetUpBeside = nothingBeside,
): Promise<readonly string[]> {
  const { timeoutMs = 5_000 } = options;
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
  const filled = await fillLists(connection);
  if (filled > 0) done.push(`Filled in what ${filled} generation${filled === 1 ? ' is' : 's are'} listed by.`);
  // Last, so that an interrupted migration does not count as finished.
  if (await connection.ask(() => schemaVersions(connection.db).raise()))
    done.push(`The schema is of version ${SCHEMA_VERSION}.`);
  return done;
}

/** Whether it was made here; another process may have made it meanwhile. */
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
