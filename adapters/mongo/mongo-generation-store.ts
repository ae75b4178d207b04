import type { Filter, UUID } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import type { StoredContent, StoredSum } from '../../core/generation/decide.js';
import {
  type Generation,
  type GenerationRecord,
  type OpenState,
  openStateOf,
  thumbnailBytesOf,
} from '../../core/generation/generation.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type {
  AppGenerations,
  DueAfter,
  GenerationStore,
  ListedField,
  ListedGenerations,
  OpenCount,
} from '../../core/ports/stores.js';
import { cursorAt, placeOf } from '../created-cursor.js';
import type { MongoConnection } from './connection.js';
import { uuidOf } from './documents.js';
import { type RecordDocument, recordsOf, VersionedDocuments } from './mongo-records.js';
import { BY_ID } from './schema.js';

/** The fields by which generations are listed and counted. Tombstones have none of it, and so has what an older release wrote. */
interface ListedFields {
  readonly createdAt?: number;
  readonly status?: string;
  readonly model?: string;
  readonly trace?: string | undefined;
  /** Only until it has ended. */
  readonly openState?: OpenState | undefined;
  /** The provider of its attempt, if it has one. */
  readonly openProvider?: string | undefined;
}

interface GenerationDocument extends RecordDocument, ListedFields {
  readonly kind: GenerationRecord['kind'];
  /** Null where a tombstone has no account or App: it is never listed. */
  readonly account: UUID | null;
  readonly app: UUID | null;
  /** Only while it counts for its account. */
  readonly unchargedBytes?: number | undefined;
  /** Only while it has thumbnails. */
  readonly thumbnailBytes?: number | undefined;
}

/** Past every id, where the list of the newest begins. */
const AFTER_ALL_IDS = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Generations in MongoDB. */
export class MongoGenerationStore
  extends VersionedDocuments<GenerationRecord, GenerationDocument>
  implements GenerationStore
{
  constructor(connection: MongoConnection) {
    super(connection, {
      collection: 'generations',
      byAttention: 'generations_by_attention',
      idOf: ({ generationId }) => generationId,
      fieldsOf: (record) => ({
        kind: record.kind,
        account: uuidOf(record.accountId),
        app: uuidOf(record.appId),
        unchargedBytes: record.kind === 'generation' ? record.unchargedBytes : undefined,
        thumbnailBytes: record.kind === 'generation' ? thumbnailBytesOf(record) : undefined,
        ...listedFields(record),
      }),
    });
  }

  override async due(now: number, limit: number, after?: DueAfter): Promise<readonly GenerationRecord[]> {
    return after === undefined ? super.due(now, limit) : this.dueAfter(now, limit, after.dueAt, after.generationId);
  }

  async list(wanted: ListedGenerations, page: PageRequest, call?: Cancellation): Promise<Page<Generation>> {
    if (wanted.of === 'app') return this.listApp(wanted, page, call);
    const limit = checkedLimit(page.limit) + 1;
    const before = uuidOf(page.cursor ?? AFTER_ALL_IDS);
    const account = wanted.of === 'all' ? undefined : uuidOf(wanted.accountId);
    if (account === null || before === null) return { items: [] };
    const filter = { kind: 'generation', _id: { $lt: before } };
    const found =
      account === undefined
        ? await this.newest(filter, limit, call)
        : await this.find({ ...filter, account }, { sort: { _id: -1 }, limit, hint: 'generations_by_account' }, call);
    return pageOf(found as Generation[], page, (generation) => generation.generationId);
  }

  /** In descending order of id, by the index on it; as a pipeline, in which every server sorts what that index finds. */
  private async newest(
    filter: Filter<RecordDocument>,
    limit: number,
    call?: Cancellation,
  ): Promise<GenerationRecord[]> {
    const stages = [{ $match: filter }, { $sort: { _id: -1 } }, { $limit: limit }];
    return recordsOf(await this.documents.aggregate(stages, BY_ID, call));
  }

  private async listApp(
    { appId, only, ...bounds }: AppGenerations,
    page: PageRequest,
    call?: Cancellation,
  ): Promise<Page<Generation>> {
    const app = uuidOf(appId);
    if (app === null) return { items: [] };
    const { hint, field } = only === undefined ? { hint: 'generations_by_app', field: {} } : byField(only);
    const wanted = { filter: { kind: 'generation', app, ...field }, hint, ...bounds };
    const found = await this.listByCreation(wanted, page, call);
    return pageOf(found as Generation[], page, (g) => cursorAt(placeOf(g)));
  }

  async stored(accountId: string, content: StoredContent, call?: Cancellation): Promise<StoredSum> {
    const account = uuidOf(accountId);
    if (account === null) return { generations: 0, bytes: 0 };
    const { field, index } = SUMS[content];
    const [generations = 0, bytes = 0] = await this.sums({ account, [field]: { $gt: 0 } }, [field], index, call);
    return { generations, bytes };
  }

  async countOpen(call?: Cancellation): Promise<readonly OpenCount[]> {
    const found = await this.documents.aggregate<OpenGroup>(COUNT_OPEN, 'generations_open', call);
    return found.map(({ _id: { state, modelKey, provider }, generations, oldestCreatedAt }) => ({
      state,
      modelKey,
      ...(typeof provider === 'string' ? { provider } : {}),
      generations,
      oldestCreatedAt,
    }));
  }
}

const SUMS: Readonly<Record<StoredContent, { readonly field: string; readonly index: string }>> = {
  uncharged: { field: 'unchargedBytes', index: 'generations_uncharged' },
  thumbnails: { field: 'thumbnailBytes', index: 'generations_thumbnails' },
};

interface OpenGroup extends Pick<OpenCount, 'generations' | 'oldestCreatedAt'> {
  readonly _id: Pick<OpenCount, 'state' | 'modelKey'> & { readonly provider?: string | null };
}

const COUNT_OPEN = [
  { $match: { openState: { $gt: '' } } },
  // The fields of the index by themselves, so that the documents are not fetched for them.
  { $project: { _id: 0, openState: 1, model: 1, openProvider: 1, createdAt: 1 } },
  {
    $group: {
      _id: { state: '$openState', modelKey: '$model', provider: '$openProvider' },
      generations: { $sum: 1 },
      oldestCreatedAt: { $min: '$createdAt' },
    },
  },
];

export function listedFields(record: GenerationRecord): ListedFields {
  if (record.kind !== 'generation') return {};
  const { createdAt, status, modelKey, clientTraceId, attempt } = record;
  const openState = openStateOf(record);
  const openProvider = openState && attempt?.provider;
  return { createdAt, status, model: modelKey, trace: clientTraceId, openState, openProvider };
}

const BY_FIELD: Readonly<Record<ListedField, { readonly hint: string; readonly name: 'status' | 'model' | 'trace' }>> =
  {
    status: { hint: 'generations_by_status', name: 'status' },
    modelKey: { hint: 'generations_by_model', name: 'model' },
    clientTraceId: { hint: 'generations_by_trace', name: 'trace' },
  };

function byField({ field, value }: NonNullable<AppGenerations['only']>) {
  const { hint, name } = BY_FIELD[field];
  return { hint, field: { [name]: value } };
}
