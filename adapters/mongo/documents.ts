import {
  type Collection,
  type Document,
  type Filter,
  MongoBulkWriteError,
  type OptionalUnlessRequiredId,
  UUID,
} from 'mongodb';
import { assert } from '../../core/assert.js';
import type { Cancellation } from '../../core/cancellation.js';
import { StoreUnavailable } from '../../core/errors.js';
import { checkedLimit, type PageRequest } from '../../core/paging.js';
import type { Insertion } from '../../core/ports/stores.js';
import { DUPLICATE_KEY, isDuplicateKey, type MongoConnection } from './connection.js';
import { BY_ID, type CollectionName } from './schema.js';

export interface FindOptions {
  readonly sort?: Readonly<Record<string, 1 | -1>>;
  readonly limit?: number;
  readonly skip?: number;
  readonly hint?: string;
  readonly projection?: Document;
}

/**
 * A collection whose operations are bounded as those of its connection are, and throw what `MongoConnection.ask` throws.
 * Updates, replacements and removals of one document use the index on its id.
 */
export class Documents<D extends Document> {
  readonly collection: Collection<D>;

  constructor(
    readonly connection: MongoConnection,
    name: CollectionName,
  ) {
    this.collection = connection.collection(name);
  }

  find<T extends Document = D>(filter: Filter<D>, options: FindOptions, call?: Cancellation): Promise<T[]> {
    return this.connection.ask((limits) => this.collection.find<T>(filter, { ...options, ...limits }).toArray(), call);
  }

  first<T extends Document = D>(filter: Filter<D>, options: FindOptions = {}, call?: Cancellation): Promise<T | null> {
    return this.connection.ask((limits) => this.collection.findOne<T>(filter, { ...options, ...limits }), call);
  }

  aggregate<T extends Document = D>(stages: Document[], hint: string, call?: Cancellation): Promise<T[]> {
    return this.connection.ask((limits) => this.collection.aggregate<T>(stages, { ...limits, hint }).toArray(), call);
  }

  /** The account's documents, ordered by id, and one more if there is a next page. */
  async ofAccount(hint: string, accountId: string, page: PageRequest, call?: Cancellation): Promise<D[]> {
    const limit = checkedLimit(page.limit) + 1;
    const [account, after] = [uuidOf(accountId), page.cursor === undefined ? undefined : uuidOf(page.cursor)];
    if (account === null || after === null) return [];
    const filter = { account, ...(after === undefined ? {} : { _id: { $gt: after } }) } as unknown as Filter<D>;
    return this.find(filter, { sort: { _id: 1 }, limit, hint }, call);
  }

  /** Whether the insert was made; otherwise its key is taken, and it has written nothing. */
  insert(document: D): Promise<boolean> {
    return unlessTaken(() =>
      this.connection.ask((limits) => this.collection.insertOne(document as OptionalUnlessRequiredId<D>, limits)),
    );
  }

  /**
   * Inserts the first document of a key, or returns the existing one. Between the two operations the existing one may be
   * removed, so that the key is free again: then it tries again, as a refused insert has written nothing.
   */
  async insertOrRead<T>(document: D, read: () => Promise<T | null>): Promise<Insertion<T>> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      if (await this.insert(document)) return { inserted: true };
      const existing = await read();
      if (existing !== null) return { inserted: false, existing };
    }
    throw new StoreUnavailable('MongoDB repeatedly reports a duplicate key, but a read does not find the document.');
  }

  /**
   * Inserts documents in one command, in no order. Returns the places of those that were not inserted because their keys
   * are taken. Throws `StoreUnavailable` or the driver's error unless the server has answered for each document.
   */
  insertAll(documents: readonly D[]): Promise<readonly number[]> {
    return this.connection.ask(async (limits) => {
      try {
        const inserted = documents as readonly OptionalUnlessRequiredId<D>[];
        await this.collection.insertMany(inserted, { ordered: false, ...limits });
        return [];
      } catch (error) {
        const taken = takenPlaces(error);
        const { insertedCount } = error as MongoBulkWriteError;
        if (insertedCount + taken.length !== documents.length)
          throw new StoreUnavailable('MongoDB has not answered for each document.', error);
        return taken;
      }
    });
  }

  /** Changes the document that the filter finds. With `upsert` one is made of both where there is none. */
  async update(filter: Filter<D>, change: Document | Document[], upsert = false): Promise<'applied' | 'conflict'> {
    const { matchedCount } = await this.connection.ask((limits) =>
      this.collection.updateOne(filter, change, { ...limits, hint: BY_ID, upsert }),
    );
    return matchedCount === 1 ? 'applied' : 'conflict';
  }

  async replace(filter: Filter<D>, content: Omit<D, '_id'>, upsert = false): Promise<'applied' | 'conflict'> {
    const { matchedCount } = await this.connection.ask((limits) =>
      this.collection.replaceOne(filter, content as never, { ...limits, hint: BY_ID, upsert }),
    );
    return matchedCount === 1 ? 'applied' : 'conflict';
  }

  async remove(filter: Filter<D>): Promise<'applied' | 'conflict'> {
    const { deletedCount } = await this.connection.ask((limits) =>
      this.collection.deleteOne(filter, { ...limits, hint: BY_ID }),
    );
    return deletedCount === 1 ? 'applied' : 'conflict';
  }

  /** Removes documents of a list that is in the order of an index, at most `limit`, and returns how many. */
  async removeFirst(
    filter: Filter<D>,
    sort: Readonly<Record<string, 1 | -1>>,
    limit: number,
    hint: string,
  ): Promise<number> {
    const found = await this.find<Document>(filter, { projection: { _id: 1 }, sort, limit, hint });
    if (found.length === 0) return 0;
    const ids = { _id: { $in: found.map(({ _id }) => _id as unknown) } };
    const { deletedCount } = await this.connection.ask((limits) =>
      this.collection.deleteMany({ ...filter, ...ids }, { ...limits, hint: BY_ID }),
    );
    return deletedCount;
  }

  /**
   * Removes what is kept no longer, at most `limit` documents, and returns how many. The removal checks the time again: what was
   * stored again, or is kept for longer, since it was found here remains.
   */
  async removeDue(hint: string, now: number, limit: number): Promise<number> {
    const due = { removeAt: { $lte: now } } as unknown as Filter<D>;
    const found = await this.find<Document>(due, { projection: { _id: 1 }, sort: { removeAt: 1 }, limit, hint });
    if (found.length === 0) return 0;
    const filter = { _id: { $in: found.map(({ _id }) => _id as unknown) }, ...due } as Filter<D>;
    const { deletedCount } = await this.connection.ask((limits) =>
      this.collection.deleteMany(filter, { ...limits, hint: BY_ID }),
    );
    return deletedCount;
  }
}

const MAX_TRIES = 5;

/** Whether the insert was made; otherwise its key is taken, and it has written nothing. */
export async function unlessTaken(insert: () => Promise<unknown>): Promise<boolean> {
  try {
    await insert();
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}

/**
 * The places of the writes of a bulk that the server refused because their keys are taken; at least one. Throws the error
 * itself if it reports anything else. The driver uses the class of refused writes for a connection that was lost too, with no write refused: the
 * outcome of all of them is unknown then.
 */
export function takenPlaces(error: unknown): readonly number[] {
  if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError() !== undefined) throw error;
  const refused = error.result.getWriteErrors();
  if (refused.length === 0 || refused.some(({ code }) => code !== DUPLICATE_KEY)) throw error;
  return refused.map(({ index }) => index);
}

/** Builds a record, and leaves out members that are undefined or null. */
export function present<R extends object>(members: {
  readonly [K in keyof R]: object extends Pick<R, K> ? R[K] | null | undefined : R[K];
}): R {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null)) as R;
}

/** The id as 16 bytes, or null for a text that is not a UUID in our notation: no record has such an id. */
export function uuidOf(text: string): UUID | null {
  return TEXT.test(text) ? new UUID(text) : null;
}

const TEXT = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The id of something to be written, which only a mistake in the program makes no UUID. */
export function ownUuid(text: string): UUID {
  const id = uuidOf(text);
  assert(id !== null, 'what is stored has a UUID');
  return id;
}

export function textOf(id: UUID): string {
  return id.toHexString(true);
}
