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
import { placeBefore } from '../created-cursor.js';
import { recordFrom, recordText } from '../record-text.js';
import { DUPLICATE_KEY, isDuplicateKey, type MongoConnection, type OrderedWrite } from './connection.js';
import { BY_ID, type CollectionName } from './schema.js';

interface Found {
  readonly sort?: Readonly<Record<string, 1 | -1>>;
  readonly limit?: number;
  readonly hint?: string;
  readonly projection?: Document;
}

/**
 * A collection whose operations are bounded as those of its connection are, and throw what `MongoConnection.ask` throws. Writes
 * are of one document, by the index on its id.
 */
export class Documents<D extends Document> {
  readonly collection: Collection<D>;

  constructor(
    readonly connection: MongoConnection,
    name: CollectionName,
  ) {
    this.collection = connection.collection(name);
  }

  find<T extends Document = D>(filter: Filter<D>, options: Found, call?: Cancellation): Promise<T[]> {
    return this.connection.ask((limits) => this.collection.find<T>(filter, { ...options, ...limits }).toArray(), call);
  }

  first<T extends Document = D>(filter: Filter<D>, options: Found = {}, call?: Cancellation): Promise<T | null> {
    return this.connection.ask((limits) => this.collection.findOne<T>(filter, { ...options, ...limits }), call);
  }

  aggregate<T extends Document = D>(stages: Document[], hint: string, call?: Cancellation): Promise<T[]> {
    return this.connection.ask((limits) => this.collection.aggregate<T>(stages, { ...limits, hint }).toArray(), call);
  }

  /** What an account has, in the order of its ids, and one more where there is a next page. */
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

/**
 * A record as one JSON text, next to the few fields used in queries. It is text because clients choose names in a
 * record: BSON gives meaning to `$`, dots and depth, while JSON returns every name and number unchanged.
 */
export interface RecordDocument {
  readonly _id: UUID;
  readonly version: number;
  /** The record's `dueAt`, under the name that every release has indexed. */
  readonly attentionAt: number;
  readonly record: string;
}

export interface VersionedKind<R, D extends RecordDocument> {
  readonly collection: CollectionName;
  readonly byAttention: string;
  readonly idOf: (record: R) => string;
  /** The fields used in queries, apart from the version and the time. */
  readonly fieldsOf: (record: R) => Omit<D, keyof RecordDocument>;
}

/** One document a record, found by id and by the time it is due, written onto the version the writer saw. */
export class VersionedDocuments<
  R extends { readonly version: number; readonly dueAt: number },
  D extends RecordDocument,
> {
  protected readonly documents: Documents<RecordDocument>;

  constructor(
    connection: MongoConnection,
    protected readonly kind: VersionedKind<R, D>,
  ) {
    this.documents = new Documents(connection, kind.collection);
  }

  insert(record: R): Promise<Insertion<R>> {
    return this.documents.insertOrRead(this.documentOf(record), () => this.read(this.kind.idOf(record)));
  }

  /** The same as one of several writes of a command. */
  insertion(record: R): OrderedWrite {
    const { namespace } = this.documents.collection;
    return { namespace, name: 'insertOne', document: this.documentOf(record) };
  }

  async read(id: string, call?: Cancellation): Promise<R | null> {
    const _id = uuidOf(id);
    const found = _id === null ? null : await this.documents.first({ _id }, {}, call);
    return found === null ? null : recordFrom(found.record);
  }

  async replace(next: R, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const { _id, ...content } = this.documentOf(next);
    return this.documents.replace({ _id, version: expectedVersion }, content);
  }

  async remove(id: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const _id = uuidOf(id);
    return _id === null ? 'conflict' : this.documents.remove({ _id, version: expectedVersion });
  }

  async due(now: number, limit: number): Promise<readonly R[]> {
    const filter = { attentionAt: { $lte: now } };
    return this.find(filter, { ...this.byAttention, limit: checkedLimit(limit) });
  }

  /** The same, after a place in that order. */
  protected async dueAfter(now: number, limit: number, dueAt: number, id: string): Promise<readonly R[]> {
    const sameTime = dueAt > now ? undefined : { attentionAt: dueAt, _id: { $gt: ownUuid(id) } };
    const later = { attentionAt: { $gt: dueAt, $lte: now } };
    return inStretches(checkedLimit(limit), sameTime, later, (stretch, most) =>
      this.find(stretch, { ...this.byAttention, limit: most }),
    );
  }

  private get byAttention(): Found {
    return { sort: { attentionAt: 1, _id: 1 }, hint: this.kind.byAttention };
  }

  protected async find(filter: Filter<RecordDocument>, options: Found, call?: Cancellation): Promise<R[]> {
    return recordsOf(await this.documents.find(filter, options, call));
  }

  /**
   * The records of a page, newest first, and one more where there is a next page: a list in the order of an index that begins
   * with the fields of the filter and continues with `createdAt` and `_id`.
   */
  protected async listByCreation(
    { filter, hint, createdFrom = 0, createdBefore }: CreatedList,
    page: PageRequest,
    call?: Cancellation,
  ): Promise<R[]> {
    const limit = checkedLimit(page.limit) + 1;
    const place = placeBefore(page.cursor, createdBefore);
    const id = uuidOf(place.id);
    if (id === null) return [];
    const isContinued = page.cursor !== undefined && place.createdAt >= createdFrom;
    return inStretches(
      limit,
      isContinued ? { createdAt: place.createdAt, _id: { $lt: id } } : undefined,
      { createdAt: { $gte: createdFrom, $lt: place.createdAt } },
      (stretch, most) =>
        this.find({ ...filter, ...stretch }, { sort: { createdAt: -1, _id: -1 }, limit: most, hint }, call),
    );
  }

  /** How many documents match, and the sum of each field over them: read from the index named by `hint` alone. */
  protected async sums(
    filter: Filter<RecordDocument>,
    fields: readonly string[],
    hint: string,
    call?: Cancellation,
  ): Promise<number[]> {
    const added = Object.fromEntries(fields.map((field) => [field, { $sum: `$${field}` }]));
    // The fields by themselves, so that the documents are not fetched for them.
    const projected = Object.fromEntries(fields.map((field) => [field, 1]));
    const stages = [
      { $match: filter },
      { $project: { _id: 0, ...projected } },
      { $group: { _id: null, count: { $sum: 1 }, ...added } },
    ];
    const [found] = await this.documents.aggregate<Record<string, number>>(stages, hint, call);
    return ['count', ...fields].map((field) => found?.[field] ?? 0);
  }

  private documentOf(record: R): RecordDocument {
    return {
      _id: ownUuid(this.kind.idOf(record)),
      version: record.version,
      attentionAt: record.dueAt,
      ...this.kind.fieldsOf(record),
      record: recordText(record),
    };
  }
}

export interface CreatedList {
  readonly filter: Filter<RecordDocument>;
  readonly hint: string;
  readonly createdFrom?: number;
  readonly createdBefore?: number;
}

export function recordsOf<R extends { readonly dueAt: number }>(found: readonly RecordDocument[]): R[] {
  return found.map(({ record }) => recordFrom(record));
}

/** Two questions, each answered by a stretch of an index: what has the same time as a place, if it is asked for, and what comes after. */
async function inStretches<R>(
  limit: number,
  sameTime: Filter<RecordDocument> | undefined,
  rest: Filter<RecordDocument>,
  ask: (stretch: Filter<RecordDocument>, most: number) => Promise<R[]>,
): Promise<R[]> {
  const first = sameTime === undefined ? [] : await ask(sameTime, limit);
  return first.length === limit ? first : [...first, ...(await ask(rest, limit - first.length))];
}

interface NamedDocument {
  /** The name. */
  readonly _id: string;
  readonly version: number;
  /** The record as JSON: its texts have characters that BSON gives a meaning to. */
  readonly record: string;
}

/** Records by name, each written onto the version that its writer saw; 0 means none. */
export class NamedDocuments<T extends { readonly version: number }> {
  private readonly documents: Documents<NamedDocument>;

  constructor(
    connection: MongoConnection,
    collection: CollectionName,
    private readonly nameOf: (record: T) => string,
  ) {
    this.documents = new Documents(connection, collection);
  }

  async read(name: string, call?: Cancellation): Promise<T | null> {
    const found = await this.documents.first({ _id: name }, {}, call);
    return found === null ? null : (JSON.parse(found.record) as T);
  }

  async replace(next: T, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const { version } = next;
    const [_id, record] = [this.nameOf(next), JSON.stringify(next)];
    if (expectedVersion > 0)
      return this.documents.update({ _id, version: expectedVersion }, { $set: { version, record } });
    return (await this.documents.insert({ _id, version, record })) ? 'applied' : 'conflict';
  }
}

/** A record of members that may be undefined or null where the record has none. */
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
