import type { Collection, Db } from 'mongodb';
import { AgendaRefused } from './agenda-refused.js';
import { INDEXES, type Index } from './indexes.js';
import { COLLECTION } from './wake-up-document.js';

/**
 * Makes what wake-ups need in the database, and answers a line for each thing it did: none when all was there. Any number
 * of processes may do so at once. Throws `AgendaRefused` when an index of that name is there and is another one.
 */
export async function migrateAgenda(db: Db): Promise<readonly string[]> {
  const collection = db.collection(COLLECTION);
  const done: string[] = [];
  for (const { name, key, unique } of await missing(collection)) {
    await collection.createIndex(key, { name, unique });
    done.push(`Made the index ${name} of ${COLLECTION}.`);
  }
  return done;
}

/** What `migrateAgenda` has yet to make, in words; none when the database is ready. */
export async function missingFromAgenda(db: Db): Promise<readonly string[]> {
  return (await missing(db.collection(COLLECTION))).map(({ name }) => `The index ${name} of ${COLLECTION} is missing.`);
}

async function missing(collection: Collection): Promise<readonly Index[]> {
  const there = new Map<string, string>();
  for (const { name, key, unique } of await listed(collection)) there.set(String(name), shapeOf({ key, unique: unique === true }));
  for (const index of INDEXES) {
    const shape = there.get(index.name);
    if (shape === undefined || shape === shapeOf(index)) continue;
    throw new AgendaRefused(`The index ${index.name} of ${COLLECTION} is not the one this version needs; drop it and run \`darkroom migrate\`.`);
  }
  return INDEXES.filter(({ name }) => !there.has(name));
}

async function listed(collection: Collection) {
  try {
    return await collection.listIndexes().toArray();
  } catch (error) {
    if (isNoCollection(error)) return [];
    throw error;
  }
}

function isNoCollection(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 26;
}

function shapeOf({ key, unique }: { readonly key: unknown; readonly unique: boolean }): string {
  return JSON.stringify([key, unique]);
}
