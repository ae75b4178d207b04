import type { Filter, UUID } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import type { Erasure } from '../../core/erasure/erasure.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { DeliveryStore, ErasureStore, Insertion, ListedDeliveries, UploadStore } from '../../core/ports/stores.js';
import { type Upload, type UploadRecord, type UploadUsage, usageOf } from '../../core/uploads/upload.js';
import type { Delivery, DeliveryList } from '../../core/webhooks/delivery.js';
import { cursorAt, placeBefore } from '../created-cursor.js';
import { recordFrom, recordText } from '../record-text.js';
import type { MongoConnection, OrderedWrite } from './connection.js';
import { Documents, type FindOptions, ownUuid, uuidOf } from './documents.js';
import type { CollectionName } from './schema.js';

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

interface VersionedKind<R, D extends RecordDocument> {
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
    private readonly kind: VersionedKind<R, D>,
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

  private get byAttention(): FindOptions {
    return { sort: { attentionAt: 1, _id: 1 }, hint: this.kind.byAttention };
  }

  protected async find(filter: Filter<RecordDocument>, options: FindOptions, call?: Cancellation): Promise<R[]> {
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

interface CreatedList {
  readonly filter: Filter<RecordDocument>;
  readonly hint: string;
  readonly createdFrom?: number;
  readonly createdBefore?: number;
}

export function recordsOf<R extends { readonly dueAt: number }>(found: readonly RecordDocument[]): R[] {
  return found.map(({ record }) => recordFrom(record));
}

/** Two queries, each over one range of an index: records at the time of a place, if one is given, and then the rest. */
async function inStretches<R>(
  limit: number,
  sameTime: Filter<RecordDocument> | undefined,
  rest: Filter<RecordDocument>,
  ask: (stretch: Filter<RecordDocument>, most: number) => Promise<R[]>,
): Promise<R[]> {
  const first = sameTime === undefined ? [] : await ask(sameTime, limit);
  return first.length === limit ? first : [...first, ...(await ask(rest, limit - first.length))];
}

/** Only of what counts for its App: what remains of an upload has none of these. */
interface UploadDocument extends RecordDocument {
  readonly account?: UUID | null;
  readonly app?: UUID | null;
  readonly unfinished?: number;
  readonly bytes?: number;
}

/** Uploads in MongoDB. */
export class MongoUploadStore extends VersionedDocuments<UploadRecord, UploadDocument> implements UploadStore {
  constructor(connection: MongoConnection) {
    super(connection, {
      collection: 'uploads',
      byAttention: 'uploads_by_attention',
      idOf: ({ uploadId }) => uploadId,
      fieldsOf: (record) => {
        const usage = usageOf(record);
        return usage ? { account: uuidOf(record.accountId), app: uuidOf(record.appId), ...usage } : {};
      },
    });
  }

  async usage(accountId: string, appId: string, call?: Cancellation): Promise<UploadUsage> {
    const [account, app] = [uuidOf(accountId), uuidOf(appId)];
    const filter = { account, app, unfinished: { $gte: 0 } };
    const isNobody = account === null || app === null;
    const sums = isNobody ? [] : await this.sums(filter, ['unfinished', 'bytes'], 'uploads_by_app', call);
    const [uploads = 0, unfinished = 0, bytes = 0] = sums;
    return { uploads, unfinished, bytes };
  }

  async list(accountId: string, page: PageRequest): Promise<Page<Upload>> {
    const [account, after] = [uuidOf(accountId), page.cursor === undefined ? undefined : uuidOf(page.cursor)];
    if (account === null || after === null) return { items: [] };
    const counts = { account, unfinished: { $gte: 0 } };
    const filter = after === undefined ? counts : { ...counts, _id: { $gt: after } };
    const options = { sort: { _id: 1 }, limit: checkedLimit(page.limit) + 1, hint: 'uploads_by_account' } as const;
    const found = (await this.find(filter, options)) as readonly Upload[];
    return pageOf(found, page, ({ uploadId }) => uploadId);
  }
}

/** Requests that something be erased, in MongoDB. */
export class MongoErasureStore extends VersionedDocuments<Erasure, RecordDocument> implements ErasureStore {
  constructor(connection: MongoConnection) {
    super(connection, {
      collection: 'erasures',
      byAttention: 'erasures_by_attention',
      idOf: ({ erasureId }) => erasureId,
      fieldsOf: () => ({}),
    });
  }

  /** The server's log of operations and its journal are the operator's. */
  removeRemains(): Promise<'done'> {
    return Promise.resolve('done');
  }

  emptyLog(): Promise<'done'> {
    return Promise.resolve('done');
  }
}

interface DeliveryDocument extends RecordDocument, Readonly<Record<DeliveryList, UUID | null>> {
  readonly createdAt: number;
}

/** The fields by which a delivery is listed. */
export function listedFieldsOfDelivery(delivery: Delivery): Omit<DeliveryDocument, keyof RecordDocument> {
  const { createdAt, endpointId, appId, accountId, generationId } = delivery;
  return {
    createdAt,
    endpoint: uuidOf(endpointId),
    app: uuidOf(appId),
    account: uuidOf(accountId),
    generation: uuidOf(generationId),
  };
}

/** Webhook deliveries in MongoDB. */
export class MongoDeliveryStore extends VersionedDocuments<Delivery, DeliveryDocument> implements DeliveryStore {
  constructor(connection: MongoConnection) {
    super(connection, {
      collection: 'deliveries',
      byAttention: 'deliveries_by_attention',
      idOf: ({ deliveryId }) => deliveryId,
      fieldsOf: listedFieldsOfDelivery,
    });
  }

  async list({ of, id, ...bounds }: ListedDeliveries, page: PageRequest, call?: Cancellation): Promise<Page<Delivery>> {
    const value = uuidOf(id);
    if (value === null) return { items: [] };
    const wanted = { filter: { [of]: value }, hint: `deliveries_by_${of}`, ...bounds };
    const found = await this.listByCreation(wanted, page, call);
    return pageOf(found, page, ({ createdAt, deliveryId }) => cursorAt({ createdAt, id: deliveryId }));
  }
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
