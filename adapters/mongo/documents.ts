import type { Insertion } from '../../core/ports/stores.js';
import {
  type Collection,
  type Document,
  type Filter,
  MongoBulkWriteError,
  type OptionalUnlessRequiredId,
  UUID,
  type WithId,
} from 'mongodb';
import { assert } from '../../core/assert.js';
import type { Cancellation } from '../../core/cancellation.js';
import { StoreUnavailable } from '../../core/errors.js';
import { checkedLimit, type PageRequest } from '../../core/paging.js';
import { placeBefore } from '../created-cursor.js';
import { recordFrom, recordText } from '../record-text.js';
import {
  type CommandLimits,
  DUPLICATE_KEY,
  isDuplicateKey,
  type MongoConnection,
  type OrderedWrite,
} from './connection.js';
import { BY_ID, type CollectionName } from './schema.js';

interface VersionedRecord {
  readonly version: number;
  readonly dueAt: number;
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
export class VersionedDocuments<R extends VersionedRecord, D extends RecordDocument> {
  readonly collection: Collection<RecordDocument>;

  constructor(
    private readonly connection: MongoConnection,
    private readonly kind: VersionedKind<R, D>,
  ) {
    this.collection = connection.collection(kind.collection);
  }

  insert(record: R): Promise<Insertion<R>> {
    const document = this.documentOf(record);
    return firstOrExisting(
      () => this.connection.ask((limits) => this.collection.insertOne(document, limits)),
      () => this.read(this.kind.idOf(record)),
    );
  }

  /** The same as one of several writes of a command. */
  insertion(record: R): OrderedWrite {
    return { namespace: this.collection.namespace, name: 'insertOne', document: this.documentOf(record) };
  }

  async read(id: string, call?: Cancellation): Promise<R | null> {
    const _id = uuidOf(id);
    if (_id === null) return null;
    const found = await this.connection.ask((limits) => this.collection.findOne({ _id }, limits), call);
    return found === null ? null : this.recordOf(found);
  }

  async replace(next: R, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const filter = { _id: ownUuid(this.kind.idOf(next)), version: expectedVersion };
    const content = this.contentOf(next);
    const { matchedCount } = await this.connection.ask((limits) =>
      this.collection.replaceOne(filter, content, { ...limits, hint: BY_ID }),
    );
    return matchedCount === 1 ? 'applied' : 'conflict';
  }

  async remove(id: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const _id = uuidOf(id);
    if (_id === null) return 'conflict';
    const filter = { _id, version: expectedVersion };
    const { deletedCount } = await this.connection.ask((limits) =>
      this.collection.deleteOne(filter, { ...limits, hint: BY_ID }),
    );
    return deletedCount === 1 ? 'applied' : 'conflict';
  }

  async due(
    now: number,
    limit: number,
    after?: { readonly dueAt: number; readonly id: string },
  ): Promise<readonly R[]> {
    const options = { sort: { attentionAt: 1, _id: 1 }, hint: this.kind.byAttention } as const;
    const wanted = checkedLimit(limit);
    if (after === undefined) return this.find({ attentionAt: { $lte: now } }, { ...options, limit: wanted });
    // Two questions, each answered by a stretch of the index: what has the same time, and what has a later one.
    const { dueAt } = after;
    const sameTime =
      dueAt > now
        ? []
        : await this.find({ attentionAt: dueAt, _id: { $gt: ownUuid(after.id) } }, { ...options, limit: wanted });
    if (sameTime.length === wanted) return sameTime;
    return [
      ...sameTime,
      ...(await this.find({ attentionAt: { $gt: dueAt, $lte: now } }, { ...options, limit: wanted - sameTime.length })),
    ];
  }

  async find(
    filter: Filter<RecordDocument>,
    options: { readonly sort: Record<string, 1 | -1>; readonly limit: number; readonly hint: string },
    call?: Cancellation,
  ): Promise<R[]> {
    const found = await this.connection.ask(
      (limits) => this.collection.find(filter, { ...options, ...limits }).toArray(),
      call,
    );
    return found.map((document) => this.recordOf(document));
  }

  /** How many documents match, and the sum of each field over them: read from the index named by `hint` alone. */
  async sums(
    filter: Filter<RecordDocument>,
    fields: readonly string[],
    hint: string,
    call?: Cancellation,
  ): Promise<number[]> {
    const added = Object.fromEntries(fields.map((field) => [field, { $sum: `$${field}` }]));
    // The fields by themselves, so that the documents are not fetched for them.
    const projected = Object.fromEntries(fields.map((field) => [field, 1]));
    const pipeline = [
      { $match: filter },
      { $project: { _id: 0, ...projected } },
      { $group: { _id: null, count: { $sum: 1 }, ...added } },
    ];
    const [found] = await this.connection.ask(
      (limits) => this.collection.aggregate<Record<string, number>>(pipeline, { ...limits, hint }).toArray(),
      call,
    );
    return ['count', ...fields].map((field) => found?.[field] ?? 0);
  }

  /**
   * In descending order of id, by the index on it; as a pipeline, in which every server sorts what that index finds.
   */
  async findNewest(filter: Filter<RecordDocument>, limit: number, call?: Cancellation): Promise<R[]> {
    const pipeline = [{ $match: filter }, { $sort: { _id: -1 } }, { $limit: limit }];
    const found = await this.connection.ask(
      (limits) => this.collection.aggregate<RecordDocument>(pipeline, { ...limits, hint: BY_ID }).toArray(),
      call,
    );
    return found.map((document) => this.recordOf(document));
  }

  private documentOf(record: R): RecordDocument {
    return { _id: ownUuid(this.kind.idOf(record)), ...this.contentOf(record) };
  }

  private contentOf(record: R): Omit<RecordDocument, '_id'> {
    return {
      version: record.version,
      attentionAt: record.dueAt,
      ...this.kind.fieldsOf(record),
      record: recordText(record),
    };
  }

  private recordOf({ record }: RecordDocument): R {
    return recordFrom(record);
  }
}

/** A list in the order of an index that begins with the fields of the filter and continues with `createdAt` and `_id`. */
export interface CreatedList {
  readonly filter: Filter<RecordDocument>;
  readonly hint: string;
  readonly createdFrom?: number;
  readonly createdBefore?: number;
}

/**
 * The records of a page, newest first, and one more where there is a next page. Asks twice, each time for a stretch of the
 * index: what was created at the time of the place, and what before.
 */
export async function listByCreation<R extends VersionedRecord, D extends RecordDocument>(
  documents: VersionedDocuments<R, D>,
  { filter, hint, createdFrom = 0, createdBefore }: CreatedList,
  page: PageRequest,
  call?: Cancellation,
): Promise<R[]> {
  const limit = checkedLimit(page.limit) + 1;
  const place = placeBefore(page.cursor, createdBefore);
  const id = uuidOf(place.id);
  if (id === null) return [];
  const ask = (createdAt: Filter<RecordDocument>, most: number) =>
    documents.find({ ...filter, ...createdAt }, { sort: { createdAt: -1, _id: -1 }, limit: most, hint }, call);
  const isContinued = page.cursor !== undefined && place.createdAt >= createdFrom;
  const sameTime = isContinued ? await ask({ createdAt: place.createdAt, _id: { $lt: id } }, limit) : [];
  if (sameTime.length === limit) return sameTime;
  return [
    ...sameTime,
    ...(await ask({ createdAt: { $gte: createdFrom, $lt: place.createdAt } }, limit - sameTime.length)),
  ];
}

/** What an account has, in the order of its ids, and one more where there is a next page. */
export async function listByAccount<D extends Document>(
  connection: MongoConnection,
  collection: Collection<D>,
  hint: string,
  accountId: string,
  page: PageRequest,
  call: Cancellation | undefined,
): Promise<WithId<D>[]> {
  const limit = checkedLimit(page.limit) + 1;
  const [account, after] = [uuidOf(accountId), page.cursor === undefined ? undefined : uuidOf(page.cursor)];
  if (account === null || after === null) return [];
  const filter = { account, ...(after === undefined ? {} : { _id: { $gt: after } }) };
  return connection.ask(
    (limits) => collection.find(filter as never, { sort: { _id: 1 }, limit, hint, ...limits }).toArray(),
    call,
  );
}

/**
 * Removes what is kept no longer. The removal checks the time again: what was stored again, or is kept for longer, since it
 * was found here remains.
 */
export async function removeDue<D extends { readonly _id: string; readonly removeAt: number }>(
  connection: MongoConnection,
  collection: Collection<D>,
  hint: string,
  now: number,
  limit: number,
): Promise<number> {
  const due = { removeAt: { $lte: now } } as Filter<D>;
  const found = await connection.ask((limits) =>
    collection.find(due, { projection: { _id: 1 }, sort: { removeAt: 1 }, limit, hint, ...limits }).toArray(),
  );
  if (found.length === 0) return 0;
  const filter = { _id: { $in: found.map(({ _id }) => _id) }, ...due } as Filter<D>;
  const { deletedCount } = await connection.ask((limits) => collection.deleteMany(filter, { ...limits, hint: BY_ID }));
  return deletedCount;
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
  private readonly collection: Collection<NamedDocument>;

  constructor(
    private readonly connection: MongoConnection,
    collection: CollectionName,
    private readonly nameOf: (record: T) => string,
  ) {
    this.collection = connection.collection(collection);
  }

  async read(name: string, call?: Cancellation): Promise<T | null> {
    const found = await this.connection.ask((limits) => this.collection.findOne({ _id: name }, limits), call);
    return found === null ? null : (JSON.parse(found.record) as T);
  }

  async replace(next: T, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const { version } = next;
    const _id = this.nameOf(next);
    const record = JSON.stringify(next);
    if (expectedVersion === 0) return this.insert({ _id, version, record });
    const { matchedCount } = await this.connection.ask((limits) =>
      this.collection.updateOne(
        { _id, version: expectedVersion },
        { $set: { version, record } },
        { ...limits, hint: BY_ID },
      ),
    );
    return matchedCount === 1 ? 'applied' : 'conflict';
  }

  private async insert(document: NamedDocument): Promise<'applied' | 'conflict'> {
    const isFirst = await insertIfFree(() =>
      this.connection.ask((limits) => this.collection.insertOne(document, limits)),
    );
    return isFirst ? 'applied' : 'conflict';
  }
}

/** Whether the insert was made; otherwise its key is taken, and it has written nothing. */
export async function insertIfFree(insert: () => Promise<unknown>): Promise<boolean> {
  try {
    await insert();
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}

const MAX_TRIES = 5;

/**
 * Inserts the first document of a key, or returns the existing one. Between the two operations the existing one may be
 * removed, so that the key is free again: then it tries again, as a refused insert has written nothing.
 */
export async function firstOrExisting<T>(
  insert: () => Promise<unknown>,
  read: () => Promise<T | null>,
): Promise<Insertion<T>> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    if (await insertIfFree(insert)) return { inserted: true };
    const existing = await read();
    if (existing !== null) return { inserted: false, existing };
  }
  throw new StoreUnavailable('MongoDB repeatedly reports a duplicate key, but a read does not find the document.');
}

/**
 * Inserts documents in one command, in no order. Returns the places of those that were not inserted because their keys
 * are taken. Throws `StoreUnavailable` or the driver's error unless the server has answered for each document.
 */
export async function insertUnordered<T extends Document>(
  collection: Collection<T>,
  documents: readonly OptionalUnlessRequiredId<T>[],
  limits: CommandLimits,
): Promise<readonly number[]> {
  try {
    await collection.insertMany(documents, { ordered: false, ...limits });
    return [];
  } catch (error) {
    const taken = takenPlaces(error);
    const { insertedCount } = error as MongoBulkWriteError;
    if (insertedCount + taken.length !== documents.length)
      throw new StoreUnavailable('MongoDB has not answered for each document.', error);
    return taken;
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
