import { MongoServerError } from 'mongodb';
import { AgendaRefused } from '../wake-up-store.js';
import { COLLECTION, type Index, INDEXES, type LentMongo } from './wake-up-collection.js';

/**
 * Creates what wake-ups need in the database, and returns a line for each thing it did: none if everything existed. Any
 * number of processes may do so at the same time. An index over many wake-ups takes long, so `ask` needs a long time
 * limit. Throws `AgendaRefused` when something conflicts with an index, and `StoreUnavailable`.
 */
export async function migrateCollection(database: LentMongo): Promise<readonly string[]> {
  const done: string[] = [];
  for (const index of await missing(database)) {
    const { name, key, unique } = index;
    await database
      .ask(() => database.db.collection(COLLECTION).createIndex(key, { name, unique }))
      .catch((error: unknown) => {
        throw IN_THE_WAY.has(codeOf(error)) ? otherIndex(index, error) : error;
      });
    done.push(`Made the index ${name} of ${COLLECTION}.`);
  }
  return done;
}

/** Names each thing that `migrateCollection` has yet to make; empty when the database is ready. */
export async function missingFromCollection(database: LentMongo): Promise<readonly string[]> {
  return (await missing(database)).map(({ name }) => `The index ${name} of ${COLLECTION} is missing.`);
}

const NAMESPACE_NOT_FOUND = 26;
/** An index of that name or those keys exists with other properties, or existing documents violate it. */
const IN_THE_WAY: ReadonlySet<unknown> = new Set([67, 85, 86, 11_000]);

async function missing(database: LentMongo): Promise<readonly Index[]> {
  const there = new Map<string, string>();
  for (const { name, key, unique } of await listed(database))
    there.set(String(name), shapeOf({ key, unique: unique === true }));
  for (const index of INDEXES) {
    const shape = there.get(index.name);
    if (shape !== undefined && shape !== shapeOf(index)) throw otherIndex(index);
  }
  return INDEXES.filter(({ name }) => !there.has(name));
}

async function listed(database: LentMongo) {
  try {
    return await database.ask(() => database.db.collection(COLLECTION).listIndexes().toArray());
  } catch (error) {
    if (codeOf(error) === NAMESPACE_NOT_FOUND) return [];
    throw error;
  }
}

function otherIndex({ name, key }: Index, cause?: unknown): AgendaRefused {
  return new AgendaRefused(
    `The index ${name} of ${COLLECTION} cannot be the one with the keys ${JSON.stringify(key)} that this version needs; drop the index that conflicts with it, and run \`darkroom migrate\` again.`,
    cause,
  );
}

function codeOf(error: unknown): unknown {
  return error instanceof MongoServerError ? error.code : undefined;
}

function shapeOf({ key, unique }: { readonly key: unknown; readonly unique: boolean }): string {
  return JSON.stringify([key, unique]);
}
