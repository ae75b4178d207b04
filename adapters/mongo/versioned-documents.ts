import type { Collection, Filter, UUID } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import { checkedLimit } from '../../core/paging.js';
import type { MongoConnection, OrderedWrite } from './connection.js';
import { firstOrExisting } from './first-or-existing.js';
import { recordFrom, recordText } from '../record-text.js';
import { BY_ID, type CollectionName } from './schema.js';
import { ownUuid, uuidOf } from './uuid-binary.js';

interface VersionedRecord {
  readonly version: number;
  readonly dueAt: number;
}

/**
 * A record as one JSON text, with the few fields used in queries beside it. As text, because clients choose names in a
 * record: BSON gives meaning to `$`, dots and depth, while JSON returns every name and number unchanged.
 */
export interface RecordDocument {
  readonly _id: UUID;
  readonly version: number;
  /** The record's `dueAt`, under the name that every release has an index on. */
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

  insert(record: R): Promise<{ readonly inserted: true } | { readonly inserted: false; readonly existing: R }> {
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
